"""Training verifiers: cross-encoders that say whether the words of a hit say a phrase."""

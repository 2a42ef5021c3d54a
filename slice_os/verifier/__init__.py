"""Verifying hits: how likely the words of a hit, read in their sentence, say the phrase."""

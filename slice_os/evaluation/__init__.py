"""Evaluation: the experiments of the papers, and those that users need, for any encoder."""

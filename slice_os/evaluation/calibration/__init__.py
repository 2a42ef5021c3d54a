"""Calibration: how far the probabilities of hits can be trusted."""

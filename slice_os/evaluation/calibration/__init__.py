"""Calibration: how well the probability of a hit holds."""

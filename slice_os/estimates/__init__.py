"""Estimates: how many hits there are, are found and are right, and how far readers agree."""

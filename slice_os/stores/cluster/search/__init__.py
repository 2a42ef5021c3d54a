"""Requests that find passages, and the reading of their answers."""

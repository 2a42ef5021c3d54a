"""Contrasts: phrases with spans that say them, and with spans that look alike and do not."""

"""Wording: what the words of a phrase and of a hit say differently, found by matching them."""

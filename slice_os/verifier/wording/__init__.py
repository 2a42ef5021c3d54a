"""Differences in meaning between the words of a phrase and of a hit, found by matching them."""

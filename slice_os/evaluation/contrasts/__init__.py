"""Contrasts: pairs of spans that differ in one meaning, only one of which says a phrase."""

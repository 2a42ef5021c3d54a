"""Similarity of phrases by themselves, against judgements by people."""

"""Similarity of phrases by themselves, against what people say."""

"""Span retrieval: finding the spans of documents that answer queries."""

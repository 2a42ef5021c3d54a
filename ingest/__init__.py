"""Ingest: files → documents → passages → vectors → store."""

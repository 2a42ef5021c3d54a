"""Versioned OpenSearch index templates, as package data."""

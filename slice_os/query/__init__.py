"""Queries and their parts: phrases, filters, options, and the fusion of two scores."""

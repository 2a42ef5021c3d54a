"""Stores: where passages, their vectors and their terms are kept."""

"""Encoders under evaluation: any model that gives vectors of texts, behind one protocol."""

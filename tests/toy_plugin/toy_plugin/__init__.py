"""A package that extends slice-os."""

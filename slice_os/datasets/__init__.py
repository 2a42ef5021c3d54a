"""Data sets: readers that evaluation and training share, and the catalog of known sets."""

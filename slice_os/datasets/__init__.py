"""Data sets in files: readers that evaluation and training share."""

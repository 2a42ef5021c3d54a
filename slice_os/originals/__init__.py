"""The files that documents came from: found, checked, shown by page, and marked in a copy."""

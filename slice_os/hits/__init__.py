"""Results: hits, files of hits, and pages that show them."""

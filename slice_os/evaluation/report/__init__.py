"""Reports: an evaluation as one self-contained HTML file."""

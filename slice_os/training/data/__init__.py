"""Training data: reading it, keeping evaluation data out, placing phrases in real text."""

"""Topics: whether documents are given the topics they are about, from a few phrases each."""

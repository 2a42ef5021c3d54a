"""Documents, words, sentences and clauses, found in the text alone; pages of PDF files."""

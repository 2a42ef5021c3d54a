"""Documents, words, sentences and clauses, found in the text alone."""

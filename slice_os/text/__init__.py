"""Documents, words, sentences and clauses: everything that text alone tells."""

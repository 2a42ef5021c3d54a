"""What is asked for: phrases, filters, options, and one score from two."""

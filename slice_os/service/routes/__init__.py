"""The requests that a service answers, a file for each group."""

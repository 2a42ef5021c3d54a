"""Talking to a server: connections, retries, complete answers."""

"""Talking to OpenSearch: connections, retries, complete answers."""

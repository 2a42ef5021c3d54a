"""Index level: recall, latency and size of a store."""

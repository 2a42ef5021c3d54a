"""Layers that every request passes through: ids, limits, hosts, keys, metrics and traces."""

"""Addresses of hosts."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host, by its name or address without brackets."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"

"""Checks of configuration values, with one line that names the field."""

from __future__ import annotations

from slice_os.errors import InputError


def at_least(field: str, value: int, least: int) -> None:
    """Refuse an integer below ``least``."""
    if value < least:
        raise InputError(f"{field} is {value}; give {least} or more")


def positive(field: str, value: float) -> None:
    """Refuse a number that is not above 0."""
    if not value > 0:
        raise InputError(f"{field} is {value}; give a number above 0")


def not_negative(field: str, value: float) -> None:
    """Refuse a number below 0."""
    if not value >= 0:
        raise InputError(f"{field} is {value}; give 0 or more")

"""Checks of this machine's engine and speed, and of a store with its server."""

from __future__ import annotations

from slice_os.doctor.check import Check
from slice_os.doctor.machine import machine_checks
from slice_os.doctor.store import store_checks

__all__ = ["Check", "machine_checks", "store_checks"]

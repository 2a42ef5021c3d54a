"""Connections for reading a store's database."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TypeAlias

from slice_os.stores.local.arrays import DATABASE
from slice_os.stores.local.files import connect, has_log, reading_mode

Stamp: TypeAlias = tuple[int, ...] | None


class ReadConnections:
    """Connections, each lent for one question at a time and kept for the next one.

    Args:
        folder: the store's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._idle: list[sqlite3.Connection] = []
        self._stamp: Stamp = None
        self._closed = False

    def take(self) -> tuple[sqlite3.Connection, Stamp]:
        """A connection, and what `give_back` wants to know."""
        stamp = _stamp(self._folder)
        if stamp != self._stamp:
            self._close_idle()
            self._stamp = stamp
        try:
            return self._idle.pop(), stamp
        except IndexError:
            return connect(self._folder, reading_mode(self._folder)), stamp

    def give_back(self, connection: sqlite3.Connection, stamp: Stamp) -> None:
        """Take back a connection after a question, and end its transaction."""
        if self._closed or stamp != self._stamp:
            connection.close()
            return
        connection.rollback()
        self._idle.append(connection)

    def close(self) -> None:
        """Close the connections; those that are lent are closed when they come back."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


def _stamp(folder: Path) -> Stamp:
    """Changes with the store where SQLite has no lock that would tell: if it cannot be written."""
    if os.access(folder, os.W_OK):
        return None
    stat = (folder / DATABASE).stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, has_log(folder)

"""The embedded store: a folder with SQLite and memory-mapped token vectors; always exact."""

from slice_os.stores.local.store import LocalStore

__all__ = ["LocalStore"]

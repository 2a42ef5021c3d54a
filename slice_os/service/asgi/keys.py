"""API keys with scopes. A file has only the hashes of keys."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from slice_os.errors import InputError

READ, WRITE, CURATE, METRICS = SCOPES = ("read", "write", "curate", "metrics")
"""Search and read; change documents; change topics and labels; read metrics."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret: its owner's name, some of `SCOPES`, and hexadecimal digits."""

    name: str
    scopes: frozenset[str]
    sha256: str


def find_key(keys: Sequence[ApiKey], secret: str) -> ApiKey | None:
    """The key with a secret, in a time that tells nothing about it; None if there is none."""
    sent = _digest(secret)
    found = [key for key in keys if hmac.compare_digest(sent, key.sha256)]
    return found[-1] if found else None


def read_keys(path: Path) -> Sequence[ApiKey]:
    """The keys of a file: a JSON object a line, with ``name``, ``scopes`` and ``sha256``.

    Raises:
        InputError: naming file and line, or that there is no key.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(
            f"{path}: no keys ({error.strerror}); make one with `slice-os key`"
        ) from None
    keys = [_key(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not keys:
        raise InputError(f"{path}: no key; make one with `slice-os key`")
    return keys


def new_key(path: Path, name: str, scopes: Sequence[str]) -> str:
    """Add a key to a file, which only its owner may read; return the key, stored nowhere.

    Raises an `InputError` if the name is invalid or taken, or the file cannot be written.
    """
    secret = f"slice-{secrets.token_urlsafe(32)}"
    line = {"name": name, "scopes": list(scopes), "sha256": _digest(secret)}
    packed = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    _key(packed, "the key")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_bytes() if path.exists() else b""
        known = (_key(one, str(path)).name for one in before.splitlines() if one.strip())
        if name in known:
            raise InputError(f"{path}: has a key of {name!r}; delete its line first")
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
            file.write(packed if before.endswith(b"\n") or not before else b"\n" + packed)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    return secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def _key(line: bytes, where: str) -> ApiKey:
    try:
        row = orjson.loads(line)
        name, scopes, sha256 = row["name"], row["scopes"], row["sha256"]
        fits = _NAME.fullmatch(name) and _HASH.fullmatch(sha256) and scopes
        unknown = set(scopes) - set(SCOPES)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        fits, unknown = None, set()
    if not fits or unknown:
        raise InputError(
            f"{where}: no key; it has a name of letters, digits, '-', '_' and '.', scopes among "
            f"{', '.join(SCOPES)}, and a sha256; make one with `slice-os key`"
        )
    return ApiKey(name, frozenset(scopes), sha256)

"""Errors, as one exception tree.

Every message is one line that says what happened, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

ENCRYPTED = "encrypted; save it without a password"
"""The reason why a file with a password is not read."""
_LONGEST_NAME = 200
# Pairs of characters, of a name and all known ones: each takes up to 0.3 µs.
_MOST_PAIRS = 4_000_000


class SliceError(Exception):
    """Base class of every error that this library raises on purpose."""


class InputError(SliceError):
    """A text, file, record or argument cannot be used."""


class ModelError(SliceError):
    """A model folder is missing, incomplete, or does not match its card."""


class EngineError(SliceError):
    """An inference engine or execution provider did not load."""


class StoreError(SliceError):
    """A store cannot be opened, read or written."""


class UnavailableError(StoreError):
    """The server of a store does not answer or is too busy; trying again later may help."""


class RejectedError(StoreError):
    """A store rejects some of the documents that it was given; the others are stored."""


class EncoderMismatchError(StoreError):
    """The vectors of a store were made by another encoder."""


class PluginError(SliceError):
    """A part of an installed package does not load."""


class MissingExtraError(SliceError, ImportError):
    """An optional dependency is not installed; the message has the install command."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an extra: pip install 'slice-os[{extra}]'")


def imported(module: str, purpose: str, extra: str) -> Any:
    """Import a module of another package, which an extra installs.

    Raises a `MissingExtraError` without it. A module that is there but broken raises its own error.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(purpose, extra) from None


def kind_of(value: object) -> str:
    """The type of a value with its article, as in "an int"."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def nearest_name(given: str, known: Iterable[str]) -> str:
    """The end of a message on an unknown name: the known one that is nearest, or all of them."""
    names = list(known)
    close = close_name(given, names)
    return f"did you mean {close}?" if close else f"there are {', '.join(names)}"


def close_name(given: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest to another one; None if none is near.

    Long ones are not compared, since that takes time quadratic in their length, nor those after
    very many others.
    """
    names, left = [], _MOST_PAIRS
    for one in known:
        if max(len(one), len(given)) <= _LONGEST_NAME:
            left -= len(one) * len(given)
            if left < 0:
                break
            names.append(one)
    return next(iter(get_close_matches(given, names, n=1)), None)

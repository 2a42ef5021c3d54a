"""What can go wrong, as one exception tree.

Every message is one line that says what happened, where, and what to do about it.
"""

from __future__ import annotations


class SliceError(Exception):
    """Base of every error that this library raises on purpose."""


class InputError(SliceError):
    """A text, file or record that cannot be used as it is."""


class ModelError(SliceError):
    """A model folder that is missing, incomplete or not what its card says."""


class EngineError(SliceError):
    """An inference engine or execution provider that did not load as asked."""


class StoreError(SliceError):
    """A store that cannot be opened, read or written."""


class UnavailableError(StoreError):
    """A store whose server does not answer, or is too busy; it may do better later."""


class EncoderMismatchError(StoreError):
    """A store whose vectors were made by another encoder."""


class MissingExtraError(SliceError, ImportError):
    """An optional dependency that is not installed; the message has the install line."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an extra: pip install 'slice-os[{extra}]'")

"""Verifiers by name: those of this package, and those that other packages install."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError, PluginError
from slice_os.plugins import Plugin, plugins
from slice_os.verifier.claims import Verifier
from slice_os.verifier.decision import read_decision

GROUP = "slice_os.verifiers"
"""Entry points of this group are verifiers of other packages: a name, and a `VerifierFactory`."""

VerifierFactory: TypeAlias = Callable[..., Verifier]
"""Called with the encoder that makes the hits, and with SETTING if the name is NAME:SETTING."""

DEFAULT = "slice-verify"
# A new verifier of this package is a file and a line here.
VERIFIERS = {
    DEFAULT: "slice_os.verifier.bundled:BundledVerifier",
    "similarity": "slice_os.verifier.bundled:SimilarityVerifier",
    "cross-encoder": "slice_os.verifier.cross_encoder:open_cross_encoder",
}


def verifier_names() -> tuple[str, ...]:
    """Names of all verifiers, those of this package first."""
    return (*VERIFIERS, *sorted(_installed().keys() - VERIFIERS))


@lru_cache(maxsize=4)
def find_verifier(name: str, encoder: SpanEncoder) -> Verifier:
    """The verifier of a name, opened once for an encoder.

    Args:
        name: NAME or NAME:SETTING, such as ``similarity`` or ``cross-encoder:FOLDER``.
        encoder: that of the hits.

    Raises:
        InputError: if there is no verifier of that name, or it takes no such setting.
        PluginError: if its package does not load.
        ModelError: if it belongs to another encoder, or its files cannot be used.
    """
    kind, _, setting = name.partition(":")
    factory = _factory(kind)
    if not setting:
        return factory(encoder)
    try:
        return factory(encoder, setting)
    except TypeError as error:
        raise InputError(f"verifier {kind!r} takes no setting {setting!r} ({error})") from None


def chosen_verifier(
    verify: bool | None, verifier: Verifier | str | None, encoder: SpanEncoder
) -> Verifier | None:
    """The verifier to use, if any.

    Args:
        verify: whether to verify; None to do so with a verifier that is given, or with the
            bundled one if it was fitted to the hits of this encoder.
        verifier: the one to use, or its name; None for the bundled one.
        encoder: makes the hits.

    Raises:
        InputError: as `find_verifier`.
        ModelError: if the verifier belongs to another encoder.
    """
    if verify is False:
        return None
    if isinstance(verifier, str):
        return find_verifier(verifier, encoder)
    if verifier is not None:
        return verifier
    if verify is None and read_decision().encoder_id != encoder.card.encoder_id:
        return None
    return find_verifier(DEFAULT, encoder)


def _factory(kind: str) -> VerifierFactory:
    if kind in VERIFIERS:
        factory: VerifierFactory = pkgutil.resolve_name(VERIFIERS[kind])
        return factory
    plugin = _installed().get(kind)
    if plugin is None:
        raise InputError(f"no verifier {kind!r}; there are {', '.join(verifier_names())}")
    part: Any = plugin.load(object)
    if not callable(part):
        raise PluginError(f"{GROUP}: {kind!r} of {plugin.package} is no class and no function")
    return part  # type: ignore[no-any-return]


def _installed() -> dict[str, Plugin]:
    return {plugin.name: plugin for plugin in plugins(GROUP)}

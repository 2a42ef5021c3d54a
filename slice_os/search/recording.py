"""The record of a run over a store or files, from its options."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.run_record import RunRecord, TopicRecord, now
from slice_os.query.options import Cut, HitOptions, SearchOptions
from slice_os.search.refinement import refinement, usual_cut
from slice_os.verifier.claims import Verifier
from slice_os.verifier.registry import DEFAULT
from slice_os.version import __version__

_OWN_PLACE = ("threshold", "min_probability", "verify", "verifier")
_NOTHING: tuple[object, ...] = (None, (), [])


def run_record(
    command: str,
    encoder: SpanEncoder,
    wanted: Sequence[str] | Sequence[TopicRecord],
    options: HitOptions,
    *,
    store: str | None = None,
    verifier: Verifier | str | None = None,
    further: Mapping[str, Any] = {},
) -> RunRecord:
    """The record of a run that begins now.

    Args:
        command: its name, such as ``mine``.
        encoder: makes the hits.
        wanted: phrases, or topics.
        options: of the run.
        store: folder or address; a password in it is left out.
        verifier: that of the corpus; see `Corpus`.
        further: options of the run that are no fields of ``options``; None for those not given.
    """
    phrases = tuple(one for one in wanted if isinstance(one, str))
    topics = tuple(one for one in wanted if isinstance(one, TopicRecord))
    reader = refinement(encoder, HitOptions(verify=options.verify), options.verifier or verifier)
    cut = Cut(threshold=options.threshold, min_probability=options.min_probability)
    if not any(one is not None for one in cut.values()) and phrases:
        cut = cut if isinstance(options, SearchOptions) else usual_cut(encoder, reader.verifies)
    given = {name: one for name, one in options.given().items() if name not in _OWN_PLACE}
    given = {name: one for name, one in {**given, **further}.items() if one not in _NOTHING}
    keys = [*phrases, *options.counter_phrases, *(f"{one.name}\0{one.sha256}" for one in topics)]
    return RunRecord(
        command=command,
        version=__version__,
        date=now(),
        model=encoder.card.name,
        model_hash=encoder.card.encoder_id,
        verifier=_name(options.verifier or verifier) if reader.verifies else None,
        store=None if store is None else without_password(store),
        phrases=phrases,
        topics=topics,
        wanted_hash=hashlib.sha256("\0".join(keys).encode()).hexdigest(),
        options={name: _plain(one) for name, one in given.items()},
        **cut,
    )


def without_password(location: str) -> str:
    """A location to show: an address must not have a password, but may."""
    return re.sub(r"//([^:/@]*):.*@", r"//\1:…@", location)


def _name(verifier: object) -> str:
    if verifier is None:
        return DEFAULT
    return verifier if isinstance(verifier, str) else type(verifier).__name__


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value

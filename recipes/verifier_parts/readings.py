"""Readings: hits as a reader of vectors reads them, with what a verifier says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np
import orjson

from slice_os import SpanEncoder
from slice_os.arrays import FloatArray, Int8Array, IntArray
from slice_os.hits.hit import HitWithVectors
from slice_os.spans.passages import quantise, word_vectors
from slice_os.verifier.bundled import log_odds
from slice_os.verifier.claims import Claim, claim_of
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.wording.verifier import WordingVerifier

from .near_words import near

AT_ONCE = 512


@dataclass(frozen=True)
class Readings:
    """Hits of some phrases.

    Attributes:
        ours, theirs: ``(n_words, dimension)`` int8 vectors of the words of all phrases, and of all
            hits with what is around them.
        our_ends, their_ends: ``(n,)`` where the words of each phrase and hit end.
        parts: of their words; see `Near`, as for ``places``.
        phrase: ``(n_hits,)`` number of each hit's phrase.
        cosine, prior: ``(n_hits,)`` the prior in log-odds.
        network, wording: ``(n_hits,)`` log-odds of both parts of the bundled verifier.
        right: ``(n_hits,)`` 1 or 0 by a person; -1 where nobody has read it.
        claims: JSON of phrase, text, start, end and sentence before, a line each.
    """

    ours: Int8Array
    our_ends: IntArray
    theirs: Int8Array
    their_ends: IntArray
    parts: Int8Array
    places: IntArray
    phrase: IntArray
    cosine: FloatArray
    prior: FloatArray
    network: FloatArray
    wording: FloatArray
    right: Int8Array
    claims: FloatArray

    def __len__(self) -> int:
        return len(self.phrase)

    @cached_property
    def texts(self) -> list[tuple[str, str, int, int, str]]:
        """Phrase, text, start, end and sentence before of each hit."""
        return [tuple(one) for one in orjson.loads(self.claims.tobytes())]


class Teacher:
    """Makes readings of hits, with the log-odds of both parts of the bundled verifier."""

    def __init__(self, encoder: SpanEncoder, network: CrossEncoderVerifier) -> None:
        self._encoder = encoder
        self._network = network
        self._wording = WordingVerifier(encoder)

    def readings(
        self, hits: Sequence[HitWithVectors], right: Sequence[int] | None = None
    ) -> Readings:
        """Readings of hits, each taught."""
        claims = list(map(claim_of, hits))
        phrases = dict.fromkeys(hit.phrase for hit in hits)
        order = {phrase: number for number, phrase in enumerate(phrases)}
        ours = [self.phrase(phrase) for phrase in order]
        theirs = [near(hit) for hit in hits]
        return Readings(
            ours=quantise(np.concatenate(ours))[0],
            our_ends=np.cumsum([len(one) for one in ours]),
            theirs=quantise(np.concatenate([one.vectors for one in theirs]))[0],
            their_ends=np.cumsum([len(one.parts) for one in theirs]),
            parts=np.concatenate([one.parts for one in theirs]).astype(np.int8),
            places=np.array([one.place for one in theirs]),
            phrase=np.array([order[hit.phrase] for hit in hits]),
            cosine=np.array([one.cosine for one in theirs], np.float32),
            prior=np.array([one.prior for one in theirs], np.float32),
            network=self._odds(self._network, claims),
            wording=self._odds(self._wording, claims),
            right=np.array([-1] * len(hits) if right is None else right, np.int8),
            claims=np.frombuffer(
                orjson.dumps([[c.phrase, c.text, c.start, c.end, c.before] for c in claims]),
                np.uint8,
            ),
        )

    def phrase(self, phrase: str) -> FloatArray:
        """``(n_words, dimension)`` unit vectors of a phrase's words."""
        aligned, pieces = self._encoder.encode_text(phrase)
        return word_vectors(pieces, aligned.words[:, 2:])

    @staticmethod
    def _odds(verifier: CrossEncoderVerifier | WordingVerifier, claims: list[Claim]) -> FloatArray:
        verdicts = [
            verdict
            for first in range(0, len(claims), AT_ONCE)
            for verdict in verifier.check(claims[first : first + AT_ONCE])
        ]
        return np.array([log_odds(verdict.probability) for verdict in verdicts], np.float32)


def write_readings(readings: Readings, path: Path) -> None:
    """Write readings to a file, which appears whole."""
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        np.savez(stream, **{one.name: getattr(readings, one.name) for one in fields(Readings)})
    part.rename(path)


def read_readings(path: Path) -> Readings:
    """The readings of a file."""
    with np.load(path) as stored:
        return Readings(**{one.name: stored[one.name] for one in fields(Readings)})

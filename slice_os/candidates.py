"""What stores give back: scored candidates, and the passages behind them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from slice_os.arrays import FloatArray
from slice_os.passages import EncodedPassage

PassageKey: TypeAlias = Hashable


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """What a store knows of some passages for each phrase.

    Attributes:
        keys: the store's own names of the passages.
        cosines: ``(n_phrases, n_passages)``, the exact maximum over all spans.
        bm25: ``(n_phrases, n_passages)``, 0 where no term of the phrase occurs.
        bm25_best: ``(n_phrases,)``, the highest BM25 of any passage that the query admits.
    """

    keys: Sequence[PassageKey]
    cosines: FloatArray
    bm25: FloatArray
    bm25_best: FloatArray


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage as a store gives it back.

    Attributes:
        doc_id: its document.
        text: its text.
        encoded: its place, words and (quantised) vectors; metadata joins the document's.
    """

    doc_id: str
    text: str
    encoded: EncodedPassage

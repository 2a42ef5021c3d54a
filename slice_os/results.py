"""Hits, and collections of them that can be filtered by threshold and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import orjson

from slice_os.documents import Metadata


@dataclass(frozen=True, slots=True)
class Context:
    """The passage around a hit: ``text`` is code points ``start:end`` of the document."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Extent:
    """Code points ``start:end`` of a document."""

    start: int
    end: int

    def to_dict(self) -> dict[str, int]:
        """Both as plain JSON types."""
        return {"start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class Hit:
    """A span that paraphrases an origin phrase.

    Attributes:
        phrase: the origin phrase.
        doc_id: the document.
        start: first code point of the span in the document's text.
        end: one past the last.
        text: the span itself, ``document_text[start:end]``.
        cosine: similarity of span and phrase, -1 to 1, exact over the stored vectors.
        bm25: BM25 of the passage for the phrase's terms, 0 if none occurs; None if there
            is no corpus to count terms in.
        score: cosine and BM25, fused; searches rank by it.
        metadata: the document's fields, and the speaker, times, page or heading of these words.
        context: the passage around the span.
        probability: how likely the span paraphrases the phrase, by the model's calibration;
            None if the model has none.
        sentence: the sentence around the span; several, if it crosses their borders.
        turn: the turn of the conversation around the span; None in other texts.
        span: the span, if ``start``, ``end`` and ``text`` are those of a wider unit.
        count: how many hits it stands for, if near-identical ones are collapsed.
        topic: the topic that it is a hit of; None if it was not mined by topics.
    """

    phrase: str
    doc_id: str
    start: int
    end: int
    text: str
    cosine: float
    bm25: float | None
    score: float
    metadata: Metadata
    context: Context
    probability: float | None = None
    sentence: Extent | None = None
    turn: Extent | None = None
    span: Extent | None = None
    count: int = 1
    topic: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The hit as plain JSON types; floats are rounded to six decimals."""
        return {
            **({} if self.topic is None else {"topic": self.topic}),
            "doc_id": self.doc_id,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "cosine": round(self.cosine, 6),
            "bm25": None if self.bm25 is None else round(self.bm25, 6),
            "score": round(self.score, 6),
            "probability": None if self.probability is None else round(self.probability, 6),
            "phrase": self.phrase,
            "metadata": dict(self.metadata),
            "sentence": self.sentence and self.sentence.to_dict(),
            "turn": self.turn and self.turn.to_dict(),
            **({} if self.span is None else {"span": self.span.to_dict()}),
            **({} if self.count == 1 else {"count": self.count}),
            "passage": {
                "start": self.context.start,
                "end": self.context.end,
                "text": self.context.text,
            },
        }

    def to_json(self) -> bytes:
        """The hit as one line of JSON, including the newline."""
        return orjson.dumps(self.to_dict(), option=orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class Hits(Sequence[Hit]):
    """Hits, ordered by rank or by position.

    Attributes:
        items: the hits.
        threshold: the least cosine they were selected with; None if there was none.
        exhaustive: whether every passage was scored, not only those that an index proposed.
    """

    items: tuple[Hit, ...]
    threshold: float | None = None
    exhaustive: bool = False

    def rethreshold(self, threshold: float) -> Hits:
        """The hits that remain at a higher threshold.

        Raises:
            ValueError: if the threshold is lower than that of these hits, so that some are missing.
        """
        if self.threshold is not None and threshold < self.threshold:
            raise ValueError(
                f"these hits were selected with threshold {self.threshold}; "
                f"search again for those at {threshold}"
            )
        kept = tuple(hit for hit in self.items if hit.cosine >= threshold)
        return Hits(kept, threshold, self.exhaustive)

    def to_jsonl(self, path: str | Path | None = None) -> str:
        """One JSON object per line; also written to a file if a path is given."""
        lines = b"".join(hit.to_json() for hit in self.items)
        if path is not None:
            Path(path).write_bytes(lines)
        return lines.decode()

    @overload
    def __getitem__(self, index: int) -> Hit: ...

    @overload
    def __getitem__(self, index: slice) -> Hits: ...

    def __getitem__(self, index: int | slice) -> Hit | Hits:
        if isinstance(index, slice):
            return Hits(self.items[index], self.threshold, self.exhaustive)
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.items)

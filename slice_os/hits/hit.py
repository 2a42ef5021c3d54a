"""Hits, and collections of them that can be filtered by threshold and written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, overload

import orjson

from slice_os.errors import InputError
from slice_os.hits.bands import Band, anybody_says, band_of, reaches, rounded_down
from slice_os.hits.notebook import SHOWN_HITS, listing, marked, plain, with_facts
from slice_os.query.options import CLAUSE, SENTENCE, SPAN, TURN
from slice_os.records import between, known, record, type_hints
from slice_os.tables.replacing import replacing
from slice_os.tables.table import (
    Column,
    Table,
    collected,
    columns_of,
    flattened,
    paired,
    to_arrow,
    to_pandas,
    to_polars,
)
from slice_os.text.clause_words import is_clause, meaning_of
from slice_os.text.documents import ENGLISH, Extent, Metadata

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from slice_os.arrays import FloatArray, IntArray
    from slice_os.text.passage_layout import Reading

_GIVE = "give what `slice-os mine --json` prints"


@dataclass(frozen=True, slots=True)
class Context(Extent):
    """The passage around a hit: ``text`` is code points ``start:end`` of the document."""

    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A span that paraphrases an origin phrase, made whole.

    Attributes:
        start: first code point of the hit in the document's text.
        end: one past the last.
        text: the hit itself, ``document_text[start:end]``.
        cosine: similarity of span and phrase, -1 to 1, exact over the stored vectors.
        bm25: BM25 of the passage for the phrase's terms, 0 if none occurs; None if there
            is no corpus to count terms in.
        score: cosine and BM25, fused; searches rank by it.
        metadata: the document's fields, and the speaker, times, page or heading of the span.
        passage: the one around the span.
        probability: how likely the span says the phrase, by the verifier if the hit was verified,
            otherwise by the model's calibration; None if the model has none.
        reasons: evidence of the verifier against the hit, for people.
        matches: evidence for it: words of the phrase, each with those of the hit that answer them.
        topic: the topic that it is a hit of; None if it was not mined by topics.
        clause: the clause around the span; several, if it crosses their borders.
        sentence: the sentence around the span; several, if it crosses their borders.
        turn: the turn of the conversation around the span; None in other texts.
        span: the words that were compared, which cosine and probability are about; None if the hit
            is not wider than they are.
        count: number of hits that it stands for, if near-identical ones are collapsed; see
            `HitOptions`.
        label: whether people say that it is right; None if nobody said. A rejected one does not
            count, but stays in lists and files.
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
    passage: Context
    probability: Annotated[float, between(0, 1)] | None = None
    reasons: tuple[str, ...] = ()
    matches: tuple[tuple[str, str], ...] = ()
    topic: str | None = None
    clause: Extent | None = None
    sentence: Extent | None = None
    turn: Extent | None = None
    span: Extent | None = None
    count: int = 1
    label: bool | None = None

    @property
    def band(self) -> Band | None:
        """The probability in a word; None if there is none."""
        return None if self.probability is None else band_of(self.probability)

    @property
    def group(self) -> str:
        """The name under which it is shown beside others: its topic, or else its phrase."""
        return self.topic or self.phrase

    def to_dict(self) -> dict[str, Any]:
        """The hit as plain JSON types; floats are rounded to six decimals."""
        return {
            "doc_id": self.doc_id,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "cosine": round(self.cosine, 6),
            "bm25": None if self.bm25 is None else round(self.bm25, 6),
            "score": round(self.score, 6),
            "probability": None if self.probability is None else round(self.probability, 6),
            "band": self.band,
            "reasons": list(self.reasons),
            "matches": [list(pair) for pair in self.matches],
            "phrase": self.phrase,
            "topic": self.topic,
            "metadata": dict(self.metadata),
            "clause": self.clause and self.clause.to_dict(),
            "sentence": self.sentence and self.sentence.to_dict(),
            "turn": self.turn and self.turn.to_dict(),
            "span": self.span and self.span.to_dict(),
            "count": self.count,
            "label": self.label,
            "passage": self.passage.to_dict(),
        }

    def to_json(self) -> bytes:
        """The hit as one line of JSON, including the newline."""
        return orjson.dumps(self.to_dict(), option=orjson.OPT_APPEND_NEWLINE)

    def widened(self, unit: str) -> Hit:
        """The hit as wide as a unit of `UNITS` around its span, as far as its passage goes.

        A span is its clause if the phrase is one, or if it has a verb itself.
        """
        own, passage = self.span or Extent(self.start, self.end), self.passage
        wide = {CLAUSE: self.clause, SENTENCE: self.sentence, TURN: self.turn or self.sentence}
        if unit == SPAN:
            words = passage.text[own.start - passage.start : own.end - passage.start]
            whole = meaning_of(self.phrase).verb or is_clause(words)
            wide[SPAN] = self.clause if whole else None
        around = wide[unit] or own
        start, end = max(around.start, passage.start), min(around.end, passage.end)
        text = passage.text[start - passage.start : end - passage.start]
        span = None if (start, end) == (own.start, own.end) else own
        return replace(self, start=start, end=end, text=text, span=span)

    def _repr_html_(self) -> str:
        facts = [f"cosine {self.cosine:.2f}"]
        if self.probability is not None:
            facts += [f"probability {rounded_down(self.probability)}", str(self.band)]
        facts += [*self.reasons, *map(paired, self.matches)]
        facts += [f"{self.doc_id}:{self.start}-{self.end}", f"“{self.phrase}”"]
        return with_facts(self._marked(), facts)

    def _marked(self) -> str:
        start = self.start - self.passage.start
        return marked(self.passage.text, start, start + len(self.text))

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Hit:
        """The hit that `to_dict` gave; fields after ``passage`` may be missing.

        Raises an `InputError` if a field is missing or of another type.
        """
        try:
            hit = record(cls, known(cls, raw))
            row = hit.to_dict()
            orjson.dumps(row)  # refuses numbers and text that JSON cannot hold
            for name, value in flattened(row):
                if isinstance(value, float) and not isfinite(value):
                    raise ValueError(f"{name} is not finite")
                if isinstance(value, int) and value >= 2**63:
                    raise ValueError(f"{name} is {value}; give a number of 64 bits")
            return hit
        except (TypeError, ValueError, InputError) as error:
            raise InputError(f"not a hit ({error}); {_GIVE}") from None

    @classmethod
    def from_json(cls, line: str | bytes) -> Hit:
        """The hit that `to_json` wrote.

        Raises an `InputError` if the line is not the JSON of a hit.
        """
        try:
            raw = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise InputError(f"not valid JSON; {_GIVE}") from None
        return cls.from_dict(raw)

    @staticmethod
    @cache
    def columns() -> tuple[Column, ...]:
        """The columns of hits in tables, in order; those of their metadata follow."""
        hints = type_hints(Hit) | {"band": str}
        blank = Hit("", "", 0, 0, "", 0.0, None, 0.0, {}, Context(0, 0, ""))
        return tuple(columns_of((name, hints[name]) for name in blank.to_dict()))


@dataclass(frozen=True, slots=True, kw_only=True)
class HitWithVectors(Hit):
    """A hit on its way to a verifier or a topic, with the stored vectors of its passage.

    Attributes:
        vectors: ``(n_pieces, dimension)`` of the passage.
        words: ``(n_words, 4)`` of the passage: start and end code point in the document's text,
            first row of ``vectors`` and one past the last.
        first: of these words, the first of the span.
        last: one past the last.
        reading: its passage as it reads.
        language: of its document, an ISO 639 code.
    """

    vectors: FloatArray = field(compare=False, repr=False)
    words: IntArray = field(compare=False, repr=False)
    first: int = field(compare=False, repr=False)
    last: int = field(compare=False, repr=False)
    reading: Reading = field(compare=False, repr=False)
    language: str = ENGLISH

    @classmethod
    def of(cls, hit: Hit, **more: Any) -> HitWithVectors:
        """A hit with the other fields."""
        return cls(**_values(hit), **more)

    @property
    def span_vectors(self) -> FloatArray:
        """``(n_pieces, dimension)`` from the first word of the span to its last."""
        return self.vectors[self.words[self.first, 2] : self.words[self.last - 1, 3]]


def without_vectors(hit: Hit, **told: Any) -> Hit:
    """The hit as callers get it, with fields as a verifier told them."""
    return Hit(**(_values(hit) | told)) if told or isinstance(hit, HitWithVectors) else hit


def _values(hit: Hit) -> dict[str, Any]:
    return {name: getattr(hit, name) for name in type_hints(Hit)}


def counting(hits: Iterable[Hit]) -> Iterator[Hit]:
    """The hits that count: those that nobody rejected."""
    return (hit for hit in hits if hit.label is not False)


def overlap(one: Hit, other: Hit) -> bool:
    """Whether two hits of a document share a character."""
    return one.start < other.end and other.start < one.end


@dataclass(frozen=True, slots=True)
class Hits(Sequence[Hit]):
    """Hits, ordered by rank or by position.

    Attributes:
        threshold: the least cosine they were selected with; None if there was none.
        exhaustive: whether every passage was scored, not only those that an index proposed.
        min_probability: the least probability they were selected with; None if there was none.
    """

    items: tuple[Hit, ...]
    threshold: float | None = None
    exhaustive: bool = False
    min_probability: float | None = None

    @property
    def said(self) -> bool:
        """Whether anybody says the phrase; otherwise the hits, if any, are what comes nearest."""
        return anybody_says(hit.band for hit in self.items)

    def rethreshold(
        self, threshold: float | None = None, *, min_probability: float | None = None
    ) -> Hits:
        """The hits that remain at a higher threshold, or from a higher probability on.

        A new search can have a few more: where the span that ends with its clause is below the
        threshold, it takes another one that reaches it.

        None leaves the least cosine or probability as it is. Hits without a probability do not
        remain if there is a least one.

        Raises a `ValueError` if one is lower than that of these hits, so that some are missing.
        """
        given = {"threshold": threshold, "min_probability": min_probability}
        cuts = {name: least for name, least in given.items() if least is not None}
        for name, least in cuts.items():
            former = getattr(self, name)
            if former is not None and least < former:
                raise ValueError(
                    f"these hits were selected with {name} {former}; "
                    f"search again for those at {least}"
                )
        kept: Iterable[Hit] = self.items
        if threshold is not None:
            kept = (hit for hit in kept if hit.cosine >= threshold)
        if min_probability is not None:
            likely = (hit for hit in kept if hit.probability is not None)
            kept = (hit for hit in likely if reaches(hit.probability, min_probability))
        return replace(self, items=tuple(kept), **cuts)  # type: ignore[arg-type]

    def to_jsonl(self, path: str | Path | None = None) -> str:
        """One JSON object per line; also written to a file if a path is given."""
        lines = b"".join(hit.to_json() for hit in self.items)
        if path is not None:
            with replacing(Path(path)) as part:
                part.write_bytes(lines)
        return lines.decode()

    @classmethod
    def from_jsonl(cls, lines: str | bytes) -> Hits:
        """The hits that `to_jsonl` gave, or that a command printed; their threshold is not known.

        Raises an `InputError` if a line is not a hit; the message has its number.
        """
        packed = lines.encode() if isinstance(lines, str) else lines
        return cls(tuple(read_hits(packed.split(b"\n"))))

    def to_arrow(self) -> pyarrow.Table:
        """The hits as rows; metadata fields are columns ``metadata.NAME``.

        Raises a `MissingExtraError` without pyarrow, as the other two without their packages.
        """
        return to_arrow(self._table())

    def to_pandas(self) -> pandas.DataFrame:
        """The hits as a frame of pandas, with the columns of `to_arrow`."""
        return to_pandas(self._table())

    def to_polars(self) -> polars.DataFrame:
        """The hits as a frame of polars, with the columns of `to_arrow`."""
        return to_polars(self._table())

    def _repr_html_(self) -> str:
        phrases = {hit.phrase for hit in self}
        likely = any(hit.probability is not None for hit in self)

        def cells(hit: Hit) -> dict[str, str]:
            row = {"cosine": f"{hit.cosine:.2f}"}
            if likely:
                row["prob."] = "" if hit.probability is None else rounded_down(hit.probability)
                row["band"] = hit.band or ""
            if len(phrases) > 1:
                row["phrase"] = plain(hit.phrase)
            return row | {"hit": hit._marked(), "document": plain(hit.doc_id)}

        cuts = {"cosine": self.threshold, "probability": self.min_probability}
        told = [f"{name} from {cut:.2f}" for name, cut in cuts.items() if cut is not None]
        caption = ", ".join([f"{len(self):,} hit{'' if len(self) == 1 else 's'}", *told])
        return listing(caption, [cells(hit) for hit in self[:SHOWN_HITS]], len(self))

    def _table(self) -> Table:
        return collected((hit.to_dict() for hit in self.items), Hit.columns())

    @overload
    def __getitem__(self, index: int) -> Hit: ...

    @overload
    def __getitem__(self, index: slice) -> Hits: ...

    def __getitem__(self, index: int | slice) -> Hit | Hits:
        if isinstance(index, slice):
            return replace(self, items=self.items[index])
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.items)


def read_hits(lines: Iterable[bytes]) -> Iterator[Hit]:
    """The hits of JSON lines, one by one; empty lines are skipped.

    Raises an `InputError` if a line is not a hit; the message has its number.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield Hit.from_json(line)
            except InputError as error:
                raise InputError(f"line {number}: {error}") from None

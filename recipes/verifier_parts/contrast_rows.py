"""Rows of contrast data: a phrase, a span in a text, and whether the span says the phrase."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import orjson

from slice_os.datasets.files import DataSource
from slice_os.verifier.claims import Claim

KINDS = (
    *("paraphrase", "intent", "random", "near"),
    *("negation", "roles", "numbers", "tense", "question", "modality", "antonym"),
)

# Sets that tell whether far wordings are found: no encoder learns from their rows.
HELD = ("argkp", "bitext", "fever-claims", "hwu64", "nlupp")

CONTRASTS = DataSource(
    'JSON Lines of {"phrase", "text", "start", "end", "says", "kind", "source"}',
    "make it with `python recipes/contrasts.py`",
)


@dataclass(frozen=True, slots=True)
class ContrastRow:
    """A phrase and a span of a text.

    Attributes:
        text: real text; code points ``start:end`` of it are the span.
        says: whether the span, read in its text, says the phrase.
        kind: one of `KINDS`: for a span that does not say the phrase, what it differs in; for one
            that does, the contrast that it was made for, or ``paraphrase`` or ``intent``.
        source: the data set that it was made from; ``frames`` for the lexicon of this package.
        against: the words, as code points of the text, that make the span say something else; none
            if it says the phrase, None if they are not known.
        taught: what training aims at in place of the label, such as a mean with another network's
            probability.
    """

    phrase: str
    text: str
    start: int
    end: int
    says: bool
    kind: str
    source: str
    against: tuple[tuple[int, int], ...] | None = None
    taught: float | None = None


def write_rows(rows: Iterable[ContrastRow], path: Path) -> None:
    """Write rows as JSON Lines."""
    with path.open("wb") as stream:
        for row in rows:
            stream.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def read_rows(path: Path) -> Iterator[ContrastRow]:
    """The rows of a file; `InputError` if it is missing or malformed."""
    for row in CONTRASTS.json_lines(path):
        start, end = row.values.get("start"), row.values.get("end")
        text, kind = row.text("text"), row.text("kind")
        if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start < end:
            raise row.malformed("'start' and 'end' are not the offsets of a span")
        if end > len(text) or kind not in KINDS or not isinstance(row.values.get("says"), bool):
            raise row.malformed(f"not a contrast; kinds are {', '.join(KINDS)}")
        says, source, against = row.values["says"], row.text("source"), row.values.get("against")
        known = None if against is None else tuple((first, last) for first, last in against)
        taught = row.values.get("taught")
        yield ContrastRow(row.text("phrase"), text, start, end, says, kind, source, known, taught)


def by_phrase(rows: Iterable[ContrastRow]) -> dict[str, list[ContrastRow]]:
    """Rows by their phrase, in their order."""
    groups: dict[str, list[ContrastRow]] = defaultdict(list)
    for row in rows:
        groups[row.phrase].append(row)
    return groups


def first_rows(groups: Iterable[Sequence[ContrastRow]], count: int) -> list[ContrastRow]:
    """The rows of the first groups, whole, until there are so many."""
    kept: list[ContrastRow] = []
    for rows in groups:
        if len(kept) >= count:
            break
        kept += rows
    return kept


def sampled_rows(rows: Iterable[ContrastRow], count: int, rng: Random) -> list[ContrastRow]:
    """So many rows, whole phrases at random."""
    groups = list(by_phrase(rows).values())
    return first_rows(rng.sample(groups, len(groups)), count)


def claim_row(claim: Claim, says: bool, kind: str, source: str) -> ContrastRow:
    """The row of a claim of a hit, with the sentence before it; ``kind`` if it does not hold."""
    before = f"{claim.before} " if claim.before else ""
    start, end = claim.start + len(before), claim.end + len(before)
    labels = says, "paraphrase" if says else kind, source, () if says else None
    return ContrastRow(claim.phrase, before + claim.text, start, end, *labels)

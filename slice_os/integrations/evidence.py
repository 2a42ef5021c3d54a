"""A hit as frameworks take it: a text, and the evidence for it as metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slice_os.corpus import Corpus
from slice_os.errors import InputError
from slice_os.hits.hit import Context, Hit
from slice_os.text.documents import Document

PASSAGE, SPAN = CONTENTS = ("passage", "span")


def check_content(content: str) -> str:
    """Return a known kind of text for hits; another one is an `InputError`."""
    if content not in CONTENTS:
        raise InputError(f"no content {content!r}; there are {', '.join(CONTENTS)}")
    return content


def shown_of(hit: Hit, content: str) -> Hit | Context:
    """What a framework is given of a hit: the passage around it, or the hit itself, its span."""
    return hit if content == SPAN else hit.passage


def evidence_of(hit: Hit) -> dict[str, Any]:
    """The place and the scores of a hit, with rounded floats."""
    raw = hit.to_dict()
    named = ("doc_id", "start", "end", "phrase", "cosine", "bm25", "score", "probability")
    return {
        **{name: raw[name] for name in (*named, "band", "reasons", "matches")},
        "span": hit.text,
        "passage_start": hit.passage.start,
        "passage_end": hit.passage.end,
    }


def relevance_of(hit: Hit) -> float:
    """The probability of a hit, 0 to 1, by which frameworks order and cut; without one, its score.

    So documents stay in the order of a search, likeliest first, when a framework sorts them again.
    """
    return hit.score if hit.probability is None else hit.probability


def metadata_of(hit: Hit) -> dict[str, Any]:
    """The metadata of a hit and its evidence; the evidence wins where both have a name."""
    return {**hit.metadata, **evidence_of(hit)}


def document_of(doc_id: str, text: str, metadata: Mapping[str, Any]) -> Document:
    """A framework's document as a `Document`, without fields that are None.

    Raises an `InputError` if a field is a list or an object; see `Document` for other reasons.
    """
    kept = {name: value for name, value in metadata.items() if value is not None}
    return Document(doc_id, text, kept)


def opened(corpus: Corpus | str | Path) -> Corpus:
    """The given corpus, or the one at a location."""
    return corpus if isinstance(corpus, Corpus) else Corpus(corpus)

"""Hard negatives: passages that a search finds for a query and that do not answer it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.text.documents import Document
from slice_os.training.record_types import Pair, Triple


def mine_negatives(
    pairs: Sequence[Pair],
    store: str | Path,
    *,
    encoder: SpanEncoder | str | Path | None = None,
    negatives: int = 4,
    skip: int = 0,
    margin: float = 0.95,
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Triple]:
    """Triples of a query, its passage, and the best passages of other queries.

    The first text of a pair is a query, and its passage answers it; the store is a folder for all
    passages. A query with fewer negatives is left out. If answers may be missing from the data,
    skip some of the best results, or keep the margin below 1: from this share of the true passage's
    cosine on, a passage counts as an unlabelled answer and not as a negative. Progress is the
    number of queries done. Raises an `InputError` if no query has a passage.
    """
    if not pairs:
        raise InputError("no pairs to mine negatives for")
    texts = dict.fromkeys(pair.passage.text for pair in pairs)
    ids = {text: hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts}
    own: dict[str, set[str]] = {}
    for pair in pairs:
        own.setdefault(pair.first, set()).add(ids[pair.passage.text])
    with Corpus(store, encoder) as corpus:
        corpus.add(Document(id=key, text=text) for text, key in ids.items())
        for done, pair in enumerate(pairs, 1):
            wanted = negatives + skip + len(own[pair.first])
            # several passages of one document may be among the hits
            best: dict[str, float] = {}
            for hit in corpus.search(pair.first, top_k=4 * wanted):
                best[hit.doc_id] = max(hit.cosine, best.get(hit.doc_id, -1.0))
            limit = margin * max((best.get(key, 1.0) for key in own[pair.first]), default=1.0)
            others = [
                key for key, cosine in best.items() if key not in own[pair.first] and cosine < limit
            ][skip : skip + negatives]
            if len(others) == negatives:
                yield Triple(pair.first, pair.passage.text, tuple(map(corpus.text, others)))
            progress(done)

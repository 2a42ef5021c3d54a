"""Make triples with hard negatives: passages that a search finds and that do not answer the query.

    python recipes/hard_negatives.py PAIRS OUT [--model MODEL] [--negatives N] [--skip N]

PAIRS are of the format `pairs-jsonl`: the first text is a query, the second one, or its passage,
answers it. OUT gets the format `triples-jsonl`.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.training.examples.formats import read_files
from slice_os.training.record_types import Pair, Triple


def mine_negatives(
    pairs: Sequence[Pair],
    store: str | Path,
    *,
    encoder: SpanEncoder | str | Path | None = None,
    negatives: int = 4,
    skip: int = 0,
    margin: float = 0.95,
) -> Iterator[Triple]:
    """Triples of a query, its passage, and the best passages of other queries.

    The store is a folder for all passages. A query with fewer negatives is left out. If answers may
    be missing from the data, skip some of the best results, or keep the margin below 1: from this
    share of the true passage's cosine on, a passage counts as an unlabelled answer and not as a
    negative. Raises an `InputError` if no query has a passage.
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
        for pair in pairs:
            wanted = negatives + skip + len(own[pair.first])
            # several passages of one document may be among the hits
            best: dict[str, float] = {}
            for hit in corpus.search(pair.first, top_k=4 * wanted, order="score"):
                best[hit.doc_id] = max(hit.cosine, best.get(hit.doc_id, -1.0))
            limit = margin * max((best.get(key, 1.0) for key in own[pair.first]), default=1.0)
            others = [
                key for key, cosine in best.items() if key not in own[pair.first] and cosine < limit
            ][skip : skip + negatives]
            if len(others) == negatives:
                yield Triple(pair.first, pair.passage.text, tuple(map(corpus.text, others)))


def main() -> None:
    """Read pairs, and write triples."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", help="name or folder; the bundled model if not given")
    parser.add_argument("--negatives", type=int, default=4, help="of a query")
    parser.add_argument("--skip", type=int, default=0, help="so many of the best results")
    options = parser.parse_args()
    pairs = list(read_files("pairs-jsonl", [options.pairs]))
    with TemporaryDirectory() as folder, options.out.open("wb") as stream:
        found = mine_negatives(
            pairs,
            Path(folder) / "store",
            encoder=options.model,
            negatives=options.negatives,
            skip=options.skip,
        )
        for triple in found:
            stream.write(orjson.dumps(triple, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()

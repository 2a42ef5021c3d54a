"""Index level: how much a store finds, how fast, and how many bytes it takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.corpus import Corpus
from slice_os.datasets.files import DataFile, read_passages
from slice_os.encoder.model_folder import files_hash
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, quiet, track
from slice_os.evaluation.results import Cell, Evaluation, Row
from slice_os.evaluation.span_retrieval.ranking import span_encoder
from slice_os.hits.hit import Hits
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.pipeline import IngestSummary
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import find_sources
from slice_os.query.options import MAX_CANDIDATES, NUM_CANDIDATES
from slice_os.records import between
from slice_os.search.run import make_query
from slice_os.spans.choice import PassageScorer
from slice_os.text.documents import Document

CUTOFFS = (1, 10, 100)
TOP_K = max(CUTOFFS)
SHOWN = 10
# Largest difference of scores that count as equal: of float and of quantised vectors.
TIE = 1e-6
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Exhaustive:
    """Every phrase against every span of every document, with the vectors as encoded.

    ``cosines`` are the ``(n_phrases,)`` best of each passage, by document and first code point;
    ``best`` has the ``(n_phrases, n_cutoffs)`` cosines of the last passage within each cutoff.
    """

    documents: frozenset[str]
    cosines: dict[tuple[str, int], FloatArray]
    best: FloatArray

    def recall(self, row: int, hits: Hits) -> list[float]:
        """The share of the best passages, ties included, among a store's hits at each cutoff."""
        shares = []
        for cutoff, least in zip(CUTOFFS, self.best[row], strict=True):
            keys = [(hit.doc_id, hit.passage.start) for hit in hits[:cutoff]]
            right = sum(
                key in self.cosines and self.cosines[key][row] >= least - TIE for key in keys
            )
            shares.append(right / min(cutoff, len(self.cosines)))
        return shares


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    phrases: Annotated[
        Path, "PATH", "Phrases to search for: one a line, or JSON lines with a field 'text'."
    ],
    stores: Annotated[
        tuple[str, ...],
        "STORE",
        "Folder or http(s)://host:port/index, created and filled if it does not exist; "
        "repeatable.  [default: a temporary local store]",
    ] = (),
    num_candidates: Annotated[
        int, between(1, MAX_CANDIDATES), "Passages that an index in OpenSearch proposes."
    ] = NUM_CANDIDATES,
) -> Evaluation:
    """Compare stores with exhaustive search."""
    wanted = list(dict.fromkeys(read_passages(phrases)))
    rows: list[Row] = []
    documents = 0
    for encoder in encoders:
        spans = span_encoder(encoder)
        label = f"{encoder.name}: every span"
        every_span = cache(partial(score_all, data, spans, wanted, label=label, progress=progress))
        for store in stores or (LOCAL,):
            with tempfile.TemporaryDirectory() as scratch:
                location = store if stores else str(Path(scratch) / "store")
                with Corpus(location, spans) as corpus:
                    corpus.add([])
                    info = corpus.info()
                    truth = every_span(info.max_pieces)
                    documents = len(truth.documents)
                    # Refuse other documents before anything is written.
                    others = info.documents - len(corpus.store.find_documents(truth.documents))
                    if others:
                        raise InputError(
                            f"{info.location}: holds {others} documents that are not in the data; "
                            "use a separate store"
                        )
                    label = f"{encoder.name}: {store}"
                    loaded = _load(corpus, data, Path(scratch), label, progress)
                    row = _measure(corpus, wanted, truth, num_candidates, label, progress)
                    rows.append({"encoder": encoder.name, "store": store, **row, **loaded})
    digest = files_hash(*(source.path for source in find_sources([data]) if source.path))
    return Evaluation(
        "index",
        tuple(rows),
        (DataFile(data.name, digest, documents), DataFile.of(phrases, len(wanted))),
        {"num_candidates": num_candidates},
        (
            "Recall is of the best passages by cosine over every span, scored with the vectors "
            "as encoded; times are of one search for one phrase, ten hits.",
        ),
        main=("recall@10", "dense_p50_ms", "bytes_per_token"),
    )


def score_all(
    data: Path,
    encoder: SpanEncoder,
    phrases: Sequence[str],
    max_pieces: int,
    label: str,
    progress: Progress,
) -> Exhaustive:
    """Score every span of every document, as a stream, in passages of so many word pieces."""
    query = make_query(encoder, phrases)
    cosines: dict[tuple[str, int], FloatArray] = {}
    documents = set()
    for part in encode_documents(_documents(data), encoder, max_pieces):
        documents.add(part.document.id)
        for passage in part.passages:
            cosines[part.document.id, passage.start] = PassageScorer(passage, query).best_cosines()
        progress(label, len(cosines), 0)
    if not cosines:
        raise InputError(
            f"{data}: no document with a word; expected what `slice-os ingest` accepts"
        )
    matrix = np.sort(np.stack(list(cosines.values())), axis=0)[::-1]
    last = [min(cutoff, len(matrix)) - 1 for cutoff in CUTOFFS]
    return Exhaustive(frozenset(documents), cosines, matrix[last].T)


def _load(
    corpus: Corpus, data: Path, scratch: Path, label: str, progress: Progress
) -> dict[str, Cell]:
    total = sum(source.path.stat().st_size for source in find_sources([data]) if source.path)

    def tell(summary: IngestSummary) -> None:
        progress(f"{label}: bytes", summary.bytes, total)

    summary = corpus.ingest([data], dead_letters=scratch / "dead-letters.jsonl", progress=tell)
    info = corpus.info()
    return {
        "documents": info.documents,
        "passages": info.passages,
        "tokens": info.pieces,
        "bytes_per_token": info.size_bytes / max(info.pieces, 1),
        "ingest_tokens_per_second": (
            summary.pieces / max(summary.seconds, 1e-9) if summary.pieces else None
        ),
    }


def _measure(
    corpus: Corpus,
    phrases: Sequence[str],
    truth: Exhaustive,
    num_candidates: int,
    label: str,
    progress: Progress,
) -> dict[str, Cell]:
    recalls, most = [], max(num_candidates, TOP_K)
    search = partial(corpus.search, order="score")
    for row, phrase in enumerate(track(phrases, f"{label}: recall", len(phrases), progress)):
        hits = search(phrase, top_k=TOP_K, fusion="cosine", num_candidates=most)
        recalls.append(truth.recall(row, hits))
    means = np.mean(recalls, axis=0).tolist()
    cells: dict[str, Cell] = dict(zip((f"recall@{one}" for one in CUTOFFS), means, strict=True))
    for name, fusion in (("dense", "cosine"), ("hybrid", "convex")):
        times = []
        for phrase in phrases:
            began = time.perf_counter()
            search(phrase, top_k=SHOWN, fusion=fusion, num_candidates=num_candidates)
            times.append(1000 * (time.perf_counter() - began))
        cells[f"{name}_p50_ms"], cells[f"{name}_p95_ms"] = np.percentile(times, [50, 95]).tolist()
    return {"phrases": len(phrases), **cells}


def _documents(data: Path) -> Iterator[Document]:
    """The documents that an ingest would store: the first of each id."""
    seen = set()
    for source in find_sources([data]):
        for found in read(source, ReadOptions()):
            if not isinstance(found, BadRecord) and found.id not in seen:
                seen.add(found.id)
                yield found


HARNESS = Harness(
    "index",
    "Recall of stores against exhaustive search over every span, milliseconds per search, and "
    "bytes per token, on your own documents and phrases.",
    "Documents: a file or folder that `slice-os ingest` accepts.",
    run,
)

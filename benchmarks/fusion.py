"""Compare fusions of cosine and BM25 by nDCG@10, and weights of BM25.

    python benchmarks/calibration_set.py --data ../shared/data --out calibration
    python benchmarks/fusion.py --data calibration/paraphrases-train.jsonl --setting corpus
    python benchmarks/fusion.py --data ../shared/data/cuad/cuad_spans.jsonl.gz --split validation
    python benchmarks/fusion.py --data ../shared/data/qmsum/val.jsonl.gz --limit 12

The default weight was chosen by these, and by no set that results are reported on.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from slice_os.corpus import Corpus
from slice_os.datasets.span_sets import read_span_set
from slice_os.evaluation.harness import quiet
from slice_os.evaluation.registry import open_encoder
from slice_os.evaluation.span_retrieval.measures import PRIMARY, ranking_scores
from slice_os.evaluation.span_retrieval.ranking import (
    DOCUMENT,
    SETTINGS,
    SpanIndex,
    ranking_tasks,
    span_encoder,
)
from slice_os.evaluation.span_retrieval.systems import relevant
from slice_os.query.fusion import weighted
from slice_os.query.options import FUSIONS, load_fusion

WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split")
    parser.add_argument("--limit", type=int, help="documents")
    parser.add_argument("--setting", choices=SETTINGS, default=DOCUMENT)
    parser.add_argument("--encoder", default="default")
    options = parser.parse_args()
    data = read_span_set(options.data, options.split, options.limit)
    encoder = open_encoder(options.encoder)
    runs: dict[str, dict[str, list[str]]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Corpus(f"{folder}/set", encoder=span_encoder(encoder)) as corpus,
    ):
        index = SpanIndex(corpus, encoder, data, quiet)
        tasks = ranking_tasks(data, options.setting)
        for scored in index.score(tasks):
            candidates = scored.spans, scored.bm25, float(scored.bm25.max(initial=0))
            scores = {"bm25": scored.bm25}
            scores |= {name: load_fusion(name)(*candidates) for name in FUSIONS}
            scores |= {f"weight {weight}": weighted(weight)(*candidates) for weight in WEIGHTS}
            for name, row in scores.items():
                ranked = [str(scored.first + number) for number in scored.ranking(row)]
                runs.setdefault(name, {})[scored.task.id] = ranked
        right = relevant(index, tasks)
    print(f"{data.name}: {len(index.places)} passages, {len(right)} questions; {PRIMARY}")
    for name, run in runs.items():
        print(f"{name:12} {np.mean(list(ranking_scores(run, right)[PRIMARY].values())):.4f}")


if __name__ == "__main__":
    main()

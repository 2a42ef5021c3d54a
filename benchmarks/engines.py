"""How fast the engines encode, and how closely their vectors agree.

    python benchmarks/engines.py --data ../shared/data [--texts 1200] [--rounds 8]

The texts are passages of contracts. Every round encodes the same sample of them with every
engine in turn, so that a ratio compares neighbours in time; the figure is the median over rounds.
Agreement is the cosine between the engines' token vectors, and of the means of spans of 5 pieces.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from corpora import write_contracts

from slice_os import SpanEncoder
from slice_os.arrays import FloatArray
from slice_os.doctor import machine_checks
from slice_os.documents import Document
from slice_os.encoder import PieceRange
from slice_os.engine_names import ENGINES
from slice_os.ingest.passages import cut_passages

RESULT = Path(__file__).parent / "results" / "engines.json"
SPAN = 5


def passages(data: Path, encoder: SpanEncoder, count: int) -> list[str]:
    """Passages spread evenly over the first contracts."""
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        lines = write_contracts(data, Path(folder)).read_text(encoding="utf-8").splitlines()
    for line in lines:
        document = Document(**json.loads(line))
        ranges = cut_passages(document, encoder.align(document.text))
        found += [document.text[part.start : part.end] for part in ranges]
        if len(found) >= 2 * count:
            break
    return found[:: len(found) // count][:count]


def cosines(a: FloatArray, b: FloatArray) -> FloatArray:
    """Of rows."""
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    found: FloatArray = np.einsum("ij,ij->i", a, b) / norms
    return found


def span_sums(vectors: FloatArray) -> FloatArray:
    """The sums of all spans of `SPAN` pieces."""
    sums: FloatArray = np.cumsum(np.vstack([np.zeros(vectors.shape[1]), vectors]), axis=0)
    return sums[SPAN:] - sums[:-SPAN]


def main() -> None:
    """Print and save rates, ratios and agreement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=1_200)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    encoders = {name: SpanEncoder(engine=name) for name in ENGINES}
    first = encoders[ENGINES[0]]
    texts = [first.align(text) for text in passages(options.data, first, options.texts)]
    ranges = [PieceRange(text, 0, len(text.piece_ids)) for text in texts]
    sample = len(ranges) // options.rounds
    rates: dict[str, list[float]] = {name: [] for name in encoders}
    vectors: dict[str, list[FloatArray]] = {name: [] for name in encoders}
    for encoder in encoders.values():
        list(encoder.encode(ranges[:: len(ranges) // 60]))
    for number in range(options.rounds):
        part = ranges[number :: options.rounds][:sample]
        tokens = sum(piece_range.end for piece_range in part)
        for name, encoder in encoders.items():
            began = time.perf_counter()
            vectors[name] += encoder.encode(part)
            rates[name].append(tokens / (time.perf_counter() - began))
    report: dict[str, Any] = {
        "model": f"{first.card.name} {first.card.precision}",
        "machine": {c.name: dict(c.facts) for c in machine_checks() if "speed" not in c.name},
        "texts": len(ranges),
        "tokens": sum(piece_range.end for piece_range in ranges),
    }
    for name in encoders:
        ratios = [a / b for a, b in zip(rates[name], rates[ENGINES[0]], strict=True)]
        pairs = list(zip(vectors[name], vectors[ENGINES[0]], strict=True))
        token = np.concatenate([cosines(a, b) for a, b in pairs])
        span = np.concatenate(
            [cosines(span_sums(a), span_sums(b)) for a, b in pairs if len(a) >= SPAN]
        )
        report[name] = {
            "tokens_per_second": round(statistics.median(rates[name])),
            "tokens_per_second_best": round(max(rates[name])),
            "ratio": round(statistics.median(ratios), 2),
            "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
            "token_cosine": round(float(token.mean()), 5),
            "span_cosine": round(float(span.mean()), 5),
            "span_cosine_min": round(float(span.min()), 4),
        }
        print(f"{name:14}", report[name])
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

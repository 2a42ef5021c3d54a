"""Compare estimates of what topics find and miss with the truth, on contracts and conversations.

    python benchmarks/estimated_recall.py --data ../shared/data [--size 140] [--seeds 20]

Each of ContractNLI's 17 hypotheses is a topic over the 61 contracts of its dev part, and each of
some intents of MultiDoGO one over the conversations of the demo, all with the usual cut. A passage
is right if it touches a span that people marked as saying the hypothesis, or a turn with the
intent. This truth labels the samples: that of the first seed is shown, and the intervals of all
are compared with the truth.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from slice_os import Corpus, Document
from slice_os.estimates.recall import Stratum, TopicEstimate, estimate
from slice_os.estimates.sampling import PassageScores, score_passages
from slice_os.topics import Topic

ROOT = Path(__file__).parent
RESULT = ROOT / "results" / "estimated_recall.json"
INTENTS = {
    "reportlostcard": "I lost my card",
    "reportbrokenphone": "my phone is broken",
    "reportbrokensoftware": "the software does not work",
    "checkbalance": "what is the balance of my account",
    "updateaddress": "I want to change my address",
    "transfermoney": "I want to transfer money",
    "disputecharge": "there is a charge that I did not make",
    "closeaccount": "I want to close my account",
    "checkclaimstatus": "what is the status of my claim",
    "getproofofinsurance": "I need a proof of insurance",
    "getboardingpass": "I need my boarding pass",
    "changeseatassignment": "I want to change my seat",
    "viewbillsintent": "I want to see my bill",
    "expensereport": "I need to file an expense report",
}

Spans: TypeAlias = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Row:
    """A topic: how many passages are right, what its cut does, and what a sample says of that."""

    set: str
    phrase: str
    right: int
    found: int
    recall: float
    precision: float
    labels: int
    estimated_recall: str
    estimated_precision: str
    recall_held: int
    precision_held: int


def main() -> None:
    """Score, sample, label, estimate, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", type=int, default=140, help="labels of a topic, about")
    parser.add_argument("--seeds", type=int, default=20, help="samples of a topic")
    parser.add_argument("--topics", type=int, help="of each set; all if not given")
    options = parser.parse_args()
    rows = []
    for row in rows_of(options.data, options.size, options.seeds, options.topics):
        print(json.dumps(asdict(row)), flush=True)
        rows.append(row)
    RESULT.write_text(json.dumps(summary(rows, options.seeds), indent=1) + "\n")


def rows_of(data: Path, size: int, seeds: int, topics: int | None) -> Iterator[Row]:
    """The rows of both sets, of so many topics each."""
    with TemporaryDirectory() as folder:
        with Corpus(Path(folder) / "contracts") as corpus:
            for phrase, said in islice(contracts(data, corpus), topics):
                yield compared("contracts", corpus, phrase, said, size, seeds)
        with Corpus(Path(folder) / "demo") as corpus:
            for phrase, said in islice(conversations(data, corpus), topics):
                yield compared("demo", corpus, phrase, said, size, seeds)


def contracts(data: Path, corpus: Corpus) -> Iterator[tuple[str, Mapping[str, Spans]]]:
    """Hypotheses, and by document the spans that say them."""
    with gzip.open(data / "contract-nli" / "dev.json.gz", "rt") as stream:
        content = json.load(stream)
    corpus.add(Document(str(one["id"]), one["text"]) for one in content["documents"])
    for label, told in content["labels"].items():
        said = {str(one["id"]): marked(one, label) for one in content["documents"]}
        yield told["hypothesis"], said


def marked(contract: Mapping[str, Any], label: str) -> Spans:
    """The spans of a contract that say a hypothesis."""
    annotation = contract["annotation_sets"][0]["annotations"][label]
    says = annotation["choice"] == "Entailment"
    return [contract["spans"][number] for number in annotation["spans"]] if says else []


def conversations(data: Path, corpus: Corpus) -> Iterator[tuple[str, Mapping[str, Spans]]]:
    """Phrases of intents, and by conversation of the demo the turns with the intent."""
    corpus.ingest([ROOT.parent / "demo" / "dialogues.jsonl"])
    said: dict[str, dict[str, list[list[int]]]] = {name: defaultdict(list) for name in INTENTS}
    with gzip.open(data / "multidogo" / "turn_level.jsonl.gz", "rt") as stream:
        for one in filter(lambda one: one["id"] in corpus, map(json.loads, stream)):
            told_turns = [turn for turn in one["turns"] if turn["text"].strip()]
            for told, turn in zip(told_turns, corpus.turns(one["id"]), strict=True):
                for name in set(told["intent"].split("<div>")) & INTENTS.keys():
                    said[name][one["id"]].append([turn.start, turn.end])
    for name, phrase in INTENTS.items():
        yield phrase, said[name]


def compared(
    name: str, corpus: Corpus, phrase: str, said: Mapping[str, Spans], size: int, seeds: int
) -> Row:
    """Truth and estimates of a topic."""
    topic = Topic(phrase, (phrase,))
    scored = score_passages(corpus, topic)
    whole = scored.sample(corpus, 10**9)
    numbers = (number for some in scored.chosen(10**9) for number in some)
    right = {
        number: touched(hit.passage, said.get(hit.doc_id, ()))
        for number, hit in zip(numbers, whole.hits, strict=True)
    }
    truth = labelled(scored, right, 10**9, 0)
    drawn = [labelled(scored, right, size, seed) for seed in range(seeds)]
    recall, precision = truth.cut.recall.value, truth.cut.precision.value
    return Row(
        name,
        phrase,
        sum(right.values()),
        truth.cut.found,
        round(recall, 3),
        round(precision, 3),
        drawn[0].labels,
        str(drawn[0].cut.recall),
        str(drawn[0].cut.precision),
        sum(one.cut.recall.low <= recall <= one.cut.recall.high for one in drawn),
        sum(one.cut.precision.low <= precision <= one.cut.precision.high for one in drawn),
    )


def touched(passage: Any, spans: Spans) -> bool:
    """Whether a passage has a part of any of the spans."""
    return any(start < passage.end and passage.start < end for start, end in spans)


def labelled(
    scored: PassageScores, right: Mapping[int, bool], size: int, seed: int
) -> TopicEstimate:
    """The estimate of a sample that the truth labels."""
    sizes = [int((scored.strata == number).sum()) for number in range(len(scored.edges))]
    strata = [
        Stratum(least, passages, len(own), sum(right[number] for number in own))
        for least, passages, own in zip(
            scored.edges.tolist(), sizes, scored.chosen(size, seed), strict=True
        )
    ]
    return estimate(strata, scored.cut)


def summary(rows: Iterable[Row], seeds: int) -> dict[str, Any]:
    """The rows, and for each set the share of intervals that hold the truth."""
    by_set = defaultdict(list)
    for row in rows:
        by_set[row.set].append(row)
    held = {
        name: {
            "topics": len(some),
            "recall": round(sum(row.recall_held for row in some) / len(some) / seeds, 3),
            "precision": round(sum(row.precision_held for row in some) / len(some) / seeds, 3),
        }
        for name, some in by_set.items()
    }
    print(json.dumps(held))
    return {"seeds": seeds, "held": held, "rows": [asdict(row) for row in rows]}


if __name__ == "__main__":
    main()

"""Measure 20 labels for each topic: macro F1 on training utterances of CLINC150 or Banking77.

    python benchmarks/topic_labels.py --data ../shared/data

Some topics are measured, each alone. Of a topic's training utterances, 5 are phrases, 35 are a
pool for labels, and 20 are to be found among 5 utterances of every other topic. Labels are 10 right
utterances of the pool and the 10 nearest wrong ones. Nothing is read from the test parts. Saves
JSON to benchmarks/results/topic_labels.json.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from slice_os import Document, SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.labels.label import Label
from slice_os.topics import Topic, scan_topics
from slice_os.topics.learning import learn

RESULTS = Path(__file__).parent / "results" / "topic_labels.json"
PHRASES, POOL, FOUND, RIGHT, OTHERS = 5, 35, 20, 10, 5
THRESHOLDS = np.arange(0.4, 0.9, 0.02).round(2).tolist()


def training_utterances(data: Path, name: str) -> dict[str, list[str]]:
    """The training utterances of each topic."""
    found: dict[str, list[str]] = defaultdict(list)
    if name == "clinc150":
        content = json.loads((data / "clinc150" / "data_full.json").read_text("utf-8"))
        rows = content["train"]
    else:
        with (data / "banking77" / "train.csv").open(encoding="utf-8") as stream:
            rows = [(row["text"], row["category"]) for row in csv.DictReader(stream)]
    for text, topic in rows:
        found[topic].append(text)
    return found


def labels_for(name: str, texts: dict[str, list[str]], vectors: dict[str, Any]) -> list[Label]:
    """Ten right utterances of the pool, and the ten nearest wrong ones."""
    phrases = np.stack([vectors[text] for text in texts[name][:PHRASES]])
    right = texts[name][PHRASES : PHRASES + RIGHT]
    others = [text for other in texts if other != name for text in pool_of(texts[other])]
    near = (np.stack([vectors[text] for text in others]) @ phrases.T).max(axis=1)
    wrong = [others[row] for row in np.argsort(-near)[: 2 * RIGHT - len(right)]]
    return [
        Label(name, text, verdict)
        for group, verdict in ((right, True), (wrong, False))
        for text in group
    ]


def pool_of(texts: list[str]) -> list[str]:
    """The utterances that labels come from."""
    return texts[PHRASES : PHRASES + POOL]


def macro_f1(hits: Iterable[Hit], names: list[str], floors: dict[str, float]) -> float:
    """F1 of each topic over the documents, averaged; a hit needs its topic's least cosine."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for hit in hits:
        if hit.topic is not None and hit.cosine >= floors[hit.topic]:
            found[hit.topic].add(hit.doc_id)
    scores = []
    for name, ids in found.items():
        right = sum(doc_id.split(" ")[0] == name for doc_id in ids)
        scores.append(2 * right / (len(ids) + FOUND))
    return float(np.mean(scores))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--every", type=int, default=15, help="measure every so manyth topic")
    chosen = parser.parse_args()
    encoder = SpanEncoder()
    result: dict[str, Any] = {"default_threshold": encoder.card.threshold}
    for name in ("clinc150", "banking77"):
        row = measure(training_utterances(chosen.data, name), chosen.every, encoder)
        result[name] = row
        print(name, json.dumps(row), flush=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")


def measure(all_texts: dict[str, list[str]], every: int, encoder: SpanEncoder) -> dict[str, Any]:
    """Macro F1 before and after learning."""
    least = PHRASES + POOL + FOUND
    texts = {name: all_texts[name] for name in sorted(all_texts) if len(all_texts[name]) >= least}
    names = list(texts)[::every]
    used = [text for name in texts for text in texts[name][: PHRASES + POOL]]
    vectors = dict(zip(used, encoder.encode_phrases(used), strict=True))
    documents = [
        Document(f"{name} {number}", text)
        for name in texts
        for number, text in enumerate(
            texts[name][PHRASES + POOL :][: FOUND if name in names else OTHERS]
        )
    ]
    before = [Topic(name, tuple(texts[name][:PHRASES]), threshold=THRESHOLDS[0]) for name in names]
    hits = list(scan_topics(documents, before, encoder=encoder, verify=False))
    scores = {least: macro_f1(hits, names, dict.fromkeys(names, least)) for least in THRESHOLDS}
    taught = []
    for topic in before:
        plain = replace(topic, threshold=encoder.card.threshold)
        labels = labels_for(topic.name, texts, vectors)
        taught.append(replace(plain, learned=learn(plain, labels, encoder, verify=False)))
    hits = list(scan_topics(documents, taught, encoder=encoder, verify=False))
    return {
        "topics": len(names),
        "documents": len(documents),
        "default_threshold": round(macro_f1_at(scores, encoder.card.threshold), 3),
        "best_threshold_in_hindsight": round(max(scores.values()), 3),
        "with_20_labels": round(macro_f1(hits, names, dict.fromkeys(names, -1.0)), 3),
    }


def macro_f1_at(scores: dict[float, float], threshold: float) -> float:
    """The score at the threshold nearest to one."""
    return scores[min(scores, key=lambda least: abs(least - threshold))]


if __name__ == "__main__":
    main()

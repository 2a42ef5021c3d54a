"""Measure the order of hits of phrases that only name something, and fit their decision.

    python benchmarks/short_phrases.py --data ../shared/data --corpora nltk_data/packages/corpora
        [--write]

The phrases of benchmarks/short have no finite verb: "billing department", "poor battery life",
"cancel". Writers saw samples of a collection, and no hits. Readers judged the first ten hits by
score, by similarity and by probability, and saw neither order nor number: things and verbs are
right if they are mentioned, judgments if they are made.

Of the phrases that the network does not hear where they are merely named, and of the hits that are
no contrast to it, three weights are fitted by maximum likelihood to the two collections whose texts
are free for that; see `slice_os.verifier.decision`. Each of these is measured by a fit to the other
one, and the others by the fit to both; two of these came after all was chosen. For each way:
nDCG@10 over the labelled hits of a phrase, and for the ways that give a probability its AUC and
calibration error, and precision and recall at .5. --write writes the weights into the bundled
decision.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import orjson
from natural_hits import documents, labels_of
from pooled_pages import documents_of
from verifier_fitting import gained, measures, minimized, rounded

from recipes.verifier_parts.odds import Reads, bundled_odds
from slice_os import Corpus, Document, SpanEncoder
from slice_os.arrays import Float64Array
from slice_os.verifier.bundled import SimilarityVerifier, naming
from slice_os.verifier.claims import claim_of
from slice_os.verifier.decision import ALIKE, CONTRAST, DECISION, HEARD, Decision, read_decision

LABELLED = Path(__file__).parent / "short"
RESULT = Path(__file__).parent / "results" / "short_phrases.json"
FITTED = ("dialogues", "contracts")
SEEN = ("gadgets", "reports")
LAST = ("debates", "support")
CHARACTERS, FOUND, SEED = 260_000, 50, 23


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labelled hits of a phrase, and what tells how likely they are.

    Attributes:
        right: ``(n,)`` 1 or 0.
        score: ``(n,)`` of the search.
        read: ``(n,)`` log-odds of the network.
        near: ``(n,)`` log-odds by similarity.
        heard: log-odds of the network where the phrase is merely named; None if it has a verb.
    """

    right: Float64Array
    score: Float64Array
    read: Float64Array
    near: Float64Array
    heard: float | None

    def by(self, decision: Decision, heard: bool = True) -> Float64Array:
        """``(n,)`` log-odds by a decision."""
        both = zip(self.read.tolist(), self.near.tolist(), strict=True)
        return np.array([decision.together(*one, self.heard if heard else None) for one in both])


def texts(kind: str, data: Path, corpora: Path) -> list[Document]:
    """The texts of a collection that were searched: some of them by chance."""
    found = documents_of(kind, 400, corpora) if kind == "gadgets" else documents(kind, data)
    some = [document for document in found if len(document.text) > 40]
    random.Random(SEED).shuffle(some)
    sizes = np.cumsum([0, *(len(document.text) for document in some)])
    return some[: int((sizes[:-1] <= CHARACTERS).sum())]


def labelled(
    kind: str, searched: Iterable[Document], similarity: SimilarityVerifier, reads: Reads
) -> Iterator[Labelled]:
    """The labelled hits of each phrase of a collection."""
    labels = labels_of(kind, LABELLED)
    with TemporaryDirectory() as folder, Corpus(Path(folder) / "s") as corpus:
        corpus.add(searched)
        for phrase in dict.fromkeys(key[0] for key in labels):
            hits = [
                (hit, right)
                for hit in corpus.search(phrase, top_k=FOUND, order="score", verify=False)
                for right in [labels.get((phrase, hit.doc_id, hit.start, hit.end))]
                if right is not None
            ]
            claims = [claim_of(hit) for hit, _ in hits]
            names = [one for one in [naming(phrase)] if one]
            odds = reads([*claims, *names])
            yield Labelled(
                np.array([right for _, right in hits], dtype=np.float64),
                np.array([hit.score for hit, _ in hits]),
                np.array(odds[: len(claims)]),
                np.array(similarity.estimate(claims)),
                odds[-1] if names else None,
            )


def fit(some: Iterable[Labelled], decision: Decision) -> Decision:
    """The decision with weights for phrases that only name something."""
    rows, right = [], []
    for one in some:
        if one.heard is not None and one.heard < HEARD:
            behind = one.read - one.heard
            own = behind >= (CONTRAST + ALIKE) / 2
            rows.append(np.column_stack([behind, one.near, np.ones(len(behind))])[own])
            right.append(one.right[own])
    labels = np.concatenate(right)
    first, second, third = rounded(minimized(np.concatenate(rows), labels, np.ones(len(labels))))
    return replace(decision, named=(first, second, third))


def measured(some: Sequence[tuple[Labelled, Decision]]) -> dict[str, dict[str, float]]:
    """Measures of each way to order the hits of phrases, and to say how likely they are."""
    right = np.concatenate([one.right for one, _ in some])
    ways = {
        "similarity": [one.near for one, _ in some],
        "without": [one.by(decision, heard=False) for one, decision in some],
        "decided": [one.by(decision) for one, decision in some],
    }
    found = {"score": {"ndcg": ndcg([(one.right, one.score) for one, _ in some])}}
    for name, odds in ways.items():
        pairs = [(one.right, own) for (one, _), own in zip(some, odds, strict=True)]
        likely = 1 / (1 + np.exp(-np.concatenate(odds)))
        found[name] = {"ndcg": ndcg(pairs), **measures(likely, right)}
    return found


def ndcg(some: Iterable[tuple[Float64Array, Float64Array]]) -> float:
    """Mean nDCG@10 of labels in the order of numbers, over those of which any is right."""
    orders = (right[np.argsort(-values, kind="stable")] for right, values in some if right.any())
    return round(float(np.mean([gained(order) for order in orders])), 4)


def main() -> None:
    """Search, fit, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="the weights, into the decision")
    chosen = parser.parse_args()
    similarity, reads = SimilarityVerifier(SpanEncoder()), bundled_odds()
    sets = {
        kind: list(labelled(kind, texts(kind, chosen.data, chosen.corpora), similarity, reads))
        for kind in (*FITTED, *SEEN, *LAST)
    }
    bundled = read_decision()
    decision = fit((one for kind in FITTED for one in sets[kind]), bundled)
    result: dict[str, object] = {"weights": decision.named}
    for group in (FITTED, SEEN, LAST):
        parts = {
            kind: fit((one for other in FITTED if other != kind for one in sets[other]), bundled)
            if kind in FITTED
            else decision
            for kind in group
        }
        pairs = {kind: [(one, part) for one in sets[kind]] for kind, part in parts.items()}
        for kind, some in pairs.items():
            hits = np.concatenate([one.right for one in sets[kind]])
            result[kind] = {"hits": len(hits), "right": int(hits.sum()), **measured(some)}
        together = measured([pair for some in pairs.values() for pair in some])
        result[" and ".join(group)] = together
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if chosen.write:
        DECISION.write_bytes(orjson.dumps(decision, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()

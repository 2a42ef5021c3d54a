"""Teach vectors of phrases what the verifier knows: does the cosine then find far wordings?

    python benchmarks/far_wordings.py contrasts.jsonl --data ../shared/data --out far_wordings.json

The encoder stays as it is, and so do stored vectors, unless both sides are mapped. Maps are learned
from the rows of recipes/contrasts.py and recipes/found_contrasts.py that paraphrase, share an
intent, or are near without saying it; no cosine tells contradictions apart. Each starts as the
identity and is held to it by a penalty. The loss is the cross-entropy of the scaled cosine with
either the row's label or the network's probability, and that of each right span among all spans of
the batch.

Sets in `HELD` are not learned from. The labelled hits of benchmarks/natural are of other texts.
Both are measured by the AUC of the cosine.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from verifier_calibration import KINDS, auc, natural_hits

from recipes.verifier_parts.contrast_rows import HELD, ContrastRow, read_rows
from slice_os import SpanEncoder
from slice_os.verifier.bundled import NETWORK
from slice_os.verifier.claims import claim_in, claim_of
from slice_os.verifier.cross_encoder import CrossEncoderVerifier

LEARNED = ("paraphrase", "intent", "near", "random")
SIDES, TARGETS, PENALTIES = (
    ("phrase", "both", "phrase, two layers"),
    ("labels", "network"),
    (3e-3, 3e-2),
)
BATCH, RATE, SCALE = 512, 3e-4, 20.0

Map = Callable[[Any], Any]


class Pairs:
    """Unit vectors of phrases and spans ``(n, dimension)``, labels, and the network's odds."""

    def __init__(self, encoder: SpanEncoder, rows: list[ContrastRow]) -> None:
        phrases = sorted({row.phrase for row in rows})
        place = {phrase: number for number, phrase in enumerate(phrases)}
        self.of = np.array([place[row.phrase] for row in rows])
        self.phrases = torch.tensor(encoder.encode_phrases(phrases))[self.of]
        spans = [encoder.encode_spans(row.text, [(row.start, row.end)])[0] for row in rows]
        self.spans = torch.tensor(np.array(spans))
        self.right = np.array([row.says for row in rows])
        self.source = np.array([row.source for row in rows])

    def network(self, rows: list[ContrastRow]) -> np.ndarray:
        """Probabilities by the bundled network."""
        verifier = CrossEncoderVerifier(NETWORK)
        claims = [claim_in(row.phrase, row.text, row.start, row.end) for row in rows]
        return np.array([verdict.probability for verdict in verifier.check(claims)])


def learn(
    pairs: Pairs, targets: np.ndarray, side: str, penalty: float, steps: int
) -> tuple[Map, Map]:
    """The maps of phrases and of spans."""
    torch.manual_seed(0)
    size = pairs.spans.shape[1]
    matrix = torch.eye(size, requires_grad=True)
    layers = [torch.randn(size, size) / size**0.5, torch.zeros(size, size)]
    deep = side == "phrase, two layers"
    trained = [one.requires_grad_() for one in layers] if deep else [matrix]
    scale, shift = torch.tensor(10.0, requires_grad=True), torch.tensor(-5.0, requires_grad=True)

    def mapped(vectors: Any) -> Any:
        more = torch.relu(vectors @ layers[0]) @ layers[1]
        return torch.nn.functional.normalize(vectors + more if deep else vectors @ matrix.T)

    def kept(vectors: Any) -> Any:
        return vectors

    spans = mapped if side == "both" else kept
    wanted, of = torch.tensor(targets, dtype=torch.float32), torch.tensor(pairs.of)
    learned = torch.tensor(np.flatnonzero(~np.isin(pairs.source, HELD)))
    optimizer = torch.optim.Adam(
        [{"params": trained, "lr": RATE}, {"params": [scale, shift], "lr": 100 * RATE}]
    )
    for _ in range(steps):
        batch = learned[torch.randint(len(learned), (BATCH,))]
        one, other, target = mapped(pairs.phrases[batch]), spans(pairs.spans[batch]), wanted[batch]
        odds = scale * (one * other).sum(1) + shift
        loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, target)
        right = torch.nonzero(target > 0.5)[:, 0]
        among = SCALE * one[right] @ other.T
        same = (of[batch][right][:, None] == of[batch][None]) & (target[None] > 0.5)
        same[torch.arange(len(right)), right] = False
        loss = loss + torch.nn.functional.cross_entropy(among.masked_fill(same, -1e4), right)
        moved = layers[1] if deep else matrix - torch.eye(size)
        loss = loss + penalty * (moved**2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return mapped, spans


def natural(encoder: SpanEncoder, data: Path) -> Iterator[tuple[str, Any, Any, np.ndarray]]:
    """Kind, phrases, spans and labels of natural hits, which the bundled encoder found."""
    finder = SpanEncoder()
    for kind in KINDS:
        hits = [(claim_of(hit), right) for hit, right in natural_hits(kind, data, finder)]
        spans = [encoder.encode_spans(one.text, [(one.start, one.end)])[0] for one, _ in hits]
        phrases = encoder.encode_phrases([one.phrase for one, _ in hits])
        right = np.array([right for _, right in hits], dtype=bool)
        yield kind, torch.tensor(phrases), torch.tensor(np.array(spans)), right


def main() -> None:
    """Learn each map, and print and save what its cosines tell apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("contrasts", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--encoder", type=Path, help="measure this one, and learn no maps")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    encoder = SpanEncoder(options.encoder) if options.encoder else SpanEncoder()
    rows = [row for row in read_rows(options.contrasts) if row.kind in LEARNED]
    random.Random(1).shuffle(rows)
    rows = rows[: options.rows]
    pairs = Pairs(encoder, rows)
    kinds = list(natural(encoder, options.data))
    lines: list[dict[str, Any]] = []

    def tell(name: dict[str, Any], one: Map, other: Map) -> None:
        with torch.no_grad():
            line = name | {
                kind: round(auc((one(phrases) * other(spans)).sum(1).numpy(), right), 3)
                for kind, phrases, spans, right in kinds
            }
            cosines = (one(pairs.phrases) * other(pairs.spans)).sum(1).numpy()
        for held in HELD:
            chosen = pairs.source == held
            if 0 < pairs.right[chosen].sum() < chosen.sum():
                line[held] = round(auc(cosines[chosen], pairs.right[chosen]), 3)
        print(json.dumps(line), flush=True)
        lines.append(line)

    tell({"side": "none"}, lambda vectors: vectors, lambda vectors: vectors)
    if not options.encoder:
        targets = {"labels": pairs.right.astype(float), "network": pairs.network(rows)}
        for side, target, penalty in product(SIDES, TARGETS, PENALTIES):
            maps = learn(pairs, targets[target], side, penalty, options.steps)
            tell({"side": side, "target": target, "penalty": penalty}, *maps)
    if options.out:
        options.out.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()

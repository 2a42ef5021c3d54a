"""How well a reader of vectors orders the natural hits, beside the cosine and the verifier.

    python benchmarks/reader_order.py --data ../shared/data --readings FOLDER [--reader WEIGHTS ...]
        [--kind NAME ...]

FOLDER keeps the hits of benchmarks/natural as readings, which are made if they are missing; WEIGHTS
are files that recipes/vector_reader.py made. For each kind of text and over all: the AUC over all
its hits, and nDCG@10 over those of a phrase, on average over phrases with right and wrong ones.
`reader` is the reader's log-odds that the hit says the phrase; `reader + wording` weighs its guess
of the network's log-odds and the wording's own as the bundled verifier does; `both + cosine` adds
the standard scores of a phrase's log-odds and cosines.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from natural_hits import BLIND, FOURTH, KINDS, LAST, LATER, THIRD
from safetensors.torch import load_file
from verifier_calibration import auc, natural_hits

from recipes.verifier_parts.readings import Teacher, write_readings
from recipes.verifier_parts.vector_network import VectorNetwork
from recipes.verifier_parts.vector_training import Group, goal, groups_of, outputs_of
from slice_os import SpanEncoder
from slice_os.hits.hit import HitWithVectors
from slice_os.verifier.bundled import NETWORK, WEIGHTS
from slice_os.verifier.cross_encoder import CrossEncoderVerifier

ALL = (*KINDS, *BLIND, *LATER, *LAST, *THIRD, *FOURTH)
RESULT = Path(__file__).parent / "results" / "reader_order.json"
SHOWN = 10


def main() -> None:
    """Make what is missing, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--readings", type=Path, required=True)
    parser.add_argument("--kind", action="append", help="repeatable; all if none")
    parser.add_argument("--reader", type=Path, action="append", default=[], help="repeatable")
    chosen = parser.parse_args()
    asked = tuple(chosen.kind or ALL)
    chosen.readings.mkdir(parents=True, exist_ok=True)
    missing = [kind for kind in asked if not (chosen.readings / f"natural-{kind}.npz").exists()]
    if missing:
        encoder = SpanEncoder()
        teacher = Teacher(encoder, CrossEncoderVerifier(NETWORK))
        for kind in missing:
            found = natural_hits(kind, chosen.data, encoder)
            hits = [(hit, right) for hit, right in found if isinstance(hit, HitWithVectors)]
            made = teacher.readings([hit for hit, _ in hits], [right for _, right in hits])
            write_readings(made, chosen.readings / f"natural-{kind}.npz")
            print(f"{kind}: {len(hits)} hits", flush=True)
    networks = {path.parent.name: opened(path) for path in chosen.reader}
    kinds = {kind: groups_of([chosen.readings / f"natural-{kind}.npz"]) for kind in asked}
    scores = {kind: scored(groups, networks) for kind, groups in kinds.items()}
    result = {kind: measures(kinds[kind], scores[kind]) for kind in asked}
    names = list(result[asked[0]])
    for measure in ("auc", "ndcg"):
        print(f"\n{measure:10}" + "".join(f"{name:>20}" for name in names))
        for kind in asked:
            print(f"{kind:10}" + "".join(f"{result[kind][n][measure]:20.3f}" for n in names))
        means = [np.mean([result[kind][name][measure] for kind in asked]) for name in names]
        print(f"{'mean':10}" + "".join(f"{mean:20.3f}" for mean in means))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def opened(path: Path) -> VectorNetwork:
    """The network of a file of weights."""
    weights = load_file(path)
    width, dimension = weights["own.weight"].shape
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    inner = weights["layers.0.widened.weight"].shape[0]
    network = VectorNetwork(dimension, width, inner, layers)
    network.load_state_dict(weights)
    network.eval()
    return network


def scored(
    groups: Sequence[Group], networks: Mapping[str, VectorNetwork]
) -> dict[str, list[np.ndarray]]:
    """What each way of scoring gives the hits of each phrase."""
    goals = list(map(goal, groups))
    cosines = [group.readings.cosine[group.rows] for group in groups]
    found = {
        "cosine": cosines,
        "wording": [one[:, 2] for one in goals],
        "network": [one[:, 1] for one in goals],
        "bundle": [one[:, 0] for one in goals],
    }
    for name, network in networks.items():
        with torch.inference_mode():
            read = [outputs_of(network, [group], bf16=False).numpy() for group in groups]
        mixed = [
            WEIGHTS[0] * one[:, 1] + WEIGHTS[1] * own[:, 2]
            for one, own in zip(read, goals, strict=True)
        ]
        found[name] = [one[:, 0] for one in read]
        found[f"{name} + wording"] = mixed
        found[f"{name} + cosine"] = [
            standard(one[:, 0]) + standard(cosine)
            for one, cosine in zip(read, cosines, strict=True)
        ]
    return found


def standard(values: np.ndarray) -> np.ndarray:
    """Values with mean 0 and deviation 1."""
    scaled: np.ndarray = (values - values.mean()) / max(float(values.std()), 1e-6)
    return scaled


def measures(
    groups: Sequence[Group], scores: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, dict[str, float]]:
    """AUC and nDCG@10 by each way of scoring."""
    labels = [group.readings.right[group.rows] > 0 for group in groups]
    found = {}
    for name, values in scores.items():
        pairs = [pair for pair in zip(values, labels, strict=True) if pair[1].sum() > 0]
        pairs = [pair for pair in pairs if pair[1].sum() < len(pair[1])]
        found[name] = {
            "auc": auc(np.concatenate(values), np.concatenate(labels).astype(np.float64)),
            "ndcg": float(np.mean([ndcg(*pair) for pair in pairs])),
            "phrases": len(pairs),
        }
    return found


def ndcg(values: np.ndarray, right: np.ndarray) -> float:
    """Normalised discounted gain of the first ten."""
    gains = 1 / np.log2(np.arange(2, SHOWN + 2))
    order = right[np.argsort(-values, kind="stable")][:SHOWN]
    best = np.sort(right)[::-1][:SHOWN]
    return float((order * gains[: len(order)]).sum() / (best * gains[: len(best)]).sum())


if __name__ == "__main__":
    main()

"""What a network of the verifier tells apart while it is trained: alone, and with the wording.

    python benchmarks/verifier_checkpoint.py MODEL WEIGHTS --data ../shared/data

MODEL is the folder or name that the training began with, WEIGHTS the file weights.safetensors of
its checkpoint. Natural hits are those of benchmarks/natural, pairs the development pairs of
benchmarks/contrasts; neither is trained on. Together, the log-odds of the wording and of the
network are weighed by a logistic regression on the three other kinds of hits. The bundled wording
has seen three of the kinds, so compare networks by these figures, and not with those of a kind left
out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from alignment_fitting import compared
from verifier_calibration import KINDS, Part, auc, logistic_regression, natural_hits

from recipes.verifier_parts.claim_network import claim_network, claim_odds, load_weights
from slice_os import SpanEncoder
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.hugging_face import load_encoder
from slice_os.evaluation.contrasts import read_pairs
from slice_os.verifier.claims import Claim, claim_of
from slice_os.verifier.cross_encoder import ClaimInputs
from slice_os.verifier.wording.verifier import read_weights

PAIRS = Path(__file__).parent / "contrasts" / "development.jsonl"
LENGTH = 96


class Network:
    """A network of a checkpoint."""

    def __init__(self, model: str, weights: Path) -> None:
        base = load_encoder(model)
        self.inputs = ClaimInputs(Aligner(base.plain_tokenizer()), LENGTH)
        self.network = load_weights(claim_network(base.folder, 0.0), weights)

    def odds(self, claims: list[Claim]) -> np.ndarray:
        """Log-odds that claims hold."""
        return claim_odds(self.network, self.inputs, claims)


def main() -> None:
    """Print the figures of each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("weights", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    encoder, network = SpanEncoder(), Network(options.model, options.weights)
    parts = {}
    for kind in KINDS:
        labelled = [
            (claim_of(hit), bool(r)) for hit, r in natural_hits(kind, options.data, encoder)
        ]
        odds = network.odds([claim for claim, _ in labelled])
        parts[kind] = Part(compared(encoder, labelled), odds)
    pairs = read_pairs(PAIRS)
    says, not_so = (network.odds([getattr(p, one) for p in pairs]) for one in ("says", "contrast"))
    print(f"pairs in order: {(says > not_so).mean():.3f}")
    weights = read_weights()
    sets = {kind: (part.evidence(weights), part.claims.right) for kind, part in parts.items()}
    for kind, (columns, labels) in sets.items():
        right = labels > 0.5
        fitted = logistic_regression([one for other, one in sets.items() if other != kind])
        together, odds = columns @ fitted, parts[kind].odds
        yes = [(odds[one] > 0).mean() for one in (right, ~right)]
        print(
            f"{kind}: alone {auc(odds, right):.3f}, with the wording {auc(together, right):.3f}; "
            f"yes to {yes[0]:.2f} of the right and {yes[1]:.2f} of the wrong"
        )


if __name__ == "__main__":
    main()

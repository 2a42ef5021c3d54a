"""Cosines of phrases with their negations, other numbers, other roles; and with paraphrases.

Run it with `--encoder default --encoder base-minilm=MODEL`, or any encoder of `slice-os eval`.
"""

from __future__ import annotations

import argparse

from slice_os.evaluation.encoders.span_vectors import cosines
from slice_os.evaluation.registry import open_encoder

PAIRS = {
    "negation": (
        ("I want to cancel my subscription", "I do not want to cancel my subscription"),
        ("the payment went through", "the payment did not go through"),
        ("the contract may be assigned", "the contract may not be assigned"),
        ("he is allowed to leave", "he is not allowed to leave"),
    ),
    "numbers": (
        ("within 30 days of delivery", "within 90 days of delivery"),
        ("a fee of 10 dollars", "a fee of 500 dollars"),
        ("two of the three parties", "nine of the ten parties"),
        ("in March 2019", "in March 2021"),
    ),
    "roles": (
        ("the buyer sues the seller", "the seller sues the buyer"),
        ("the dog bit the man", "the man bit the dog"),
    ),
    "paraphrases": (
        ("I want to cancel my subscription", "please end my membership"),
        ("the payment went through", "we received your money"),
        ("the contract may be assigned", "the agreement can be transferred"),
        ("he is allowed to leave", "he may go"),
    ),
    "unrelated": (
        ("I want to cancel my subscription", "the train leaves at noon"),
        ("the payment went through", "a dog runs on the beach"),
    ),
}


def main() -> None:
    """Print the mean cosine of each kind of pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", action="append", required=True)
    for spec in parser.parse_args().encoder:
        encoder = open_encoder(spec)
        for kind, pairs in PAIRS.items():
            vectors = encoder.phrases([phrase for pair in pairs for phrase in pair])
            mean = cosines(vectors[::2], vectors[1::2]).mean()
            print(f"{encoder.name:16} {kind:12} {mean:.2f}")


if __name__ == "__main__":
    main()

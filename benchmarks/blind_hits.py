"""Measure the probability of hits over kinds of text that nothing was fitted to.

    python benchmarks/blind_hits.py --data ../shared/data [--verifier NAME ...]

The labelled hits of debates, support, issues and reviews in benchmarks/natural; those left open are
left out. Prints and saves measures of the cosine's probability and of each verifier's.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from verifier_calibration import measures, natural_hits

from slice_os import SpanEncoder
from slice_os.verifier.claims import claim_of
from slice_os.verifier.registry import DEFAULT, find_verifier

BLIND = ("debates", "support", "issues", "reviews")
RESULT = Path(__file__).parent / "results" / "blind_hits.json"


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verifier", action="append", help=f"repeatable; {DEFAULT} and wording")
    chosen = parser.parse_args()
    encoder = SpanEncoder()
    names = chosen.verifier or ["wording", DEFAULT]
    found: dict[str, list[float]] = {name: [] for name in ("cosine", *names)}
    right: list[bool] = []
    for kind in BLIND:
        hits = list(natural_hits(kind, chosen.data, encoder))
        claims = [claim_of(hit) for hit, _ in hits]
        right += [says for _, says in hits]
        found["cosine"] += [claim.prior or 0.0 for claim in claims]
        for name in names:
            verdicts = find_verifier(name, encoder).check(claims)
            found[name] += [verdict.probability for verdict in verdicts]
    labels = np.array(right, dtype=np.float64)
    result: dict[str, object] = {"hits": len(right), "right": sum(right)}
    result |= {name: measures(np.array(values), labels) for name, values in found.items()}
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

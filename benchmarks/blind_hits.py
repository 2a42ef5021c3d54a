"""Measure the probability of hits over kinds of text that nothing was fitted to.

    python benchmarks/blind_hits.py --data ../shared/data [--verifier NAME ...] [--kind NAME ...]

The labelled hits of four blind sets in benchmarks/natural; those left open are left out. The first
has debates, support, issues and reviews, the second web answers, papers and earnings calls, the
third issues and web pages, the fourth bookings and issues; each had another reader. Prints and
saves measures of the cosine's probability and of each verifier's, and for each verifier how many
hits each band has, and the share of them that is right, and how many of the right hits have reasons
against them. Hits of kinds that are named are printed alone.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from natural_hits import BLIND, FOURTH, LAST, THIRD
from verifier_calibration import measures, natural_hits

from slice_os import SpanEncoder
from slice_os.hits.bands import band_of
from slice_os.verifier.claims import claim_of
from slice_os.verifier.registry import DEFAULT, find_verifier

SETS = {"first": BLIND, "second": LAST, "third": THIRD, "fourth": FOURTH}
RESULT = Path(__file__).parent / "results" / "blind_hits.json"


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verifier", action="append", help=f"repeatable; {DEFAULT} and wording")
    parser.add_argument("--kind", action="append", help="repeatable; such as contracts")
    chosen = parser.parse_args()
    sets = {"named": tuple(chosen.kind)} if chosen.kind else SETS
    names = chosen.verifier or ["wording", DEFAULT]
    encoder = SpanEncoder()
    result = {name: measured(kinds, names, chosen.data, encoder) for name, kinds in sets.items()}
    print(json.dumps(result, indent=1))
    if not chosen.kind:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


def measured(
    kinds: Sequence[str], names: Sequence[str], data: Path, encoder: SpanEncoder
) -> dict[str, object]:
    """Measures of the cosine and of verifiers on the hits of some kinds."""
    found: dict[str, list[float]] = {name: [] for name in ("cosine", *names)}
    reasons = Counter[str]()
    right: list[bool] = []
    for kind in kinds:
        hits = list(natural_hits(kind, data, encoder))
        claims = [claim_of(hit) for hit, _ in hits]
        right += [says for _, says in hits]
        found["cosine"] += [claim.prior or 0.0 for claim in claims]
        for name in names:
            verdicts = find_verifier(name, encoder).check(claims)
            found[name] += [verdict.probability for verdict in verdicts]
            told = zip(verdicts, hits, strict=True)
            reasons[name] += sum(bool(verdict.reasons) and says for verdict, (_, says) in told)
    labels = np.array(right, dtype=np.float64)
    result: dict[str, object] = {"hits": len(right), "right": sum(right)}
    for name, values in found.items():
        one = {**measures(np.array(values), labels), "bands": banded(values, right)}
        result[name] = {**one, "right_with_reasons": reasons[name]} if name in names else one
    return result


def banded(values: Sequence[float], right: Sequence[bool]) -> dict[str, tuple[int, float]]:
    """The number of hits in each band, and the share of them that is right."""
    bands: defaultdict[str, list[bool]] = defaultdict(list)
    for value, says in zip(values, right, strict=True):
        bands[band_of(value)].append(says)
    return {band: (len(says), round(sum(says) / len(says), 3)) for band, says in bands.items()}


if __name__ == "__main__":
    main()

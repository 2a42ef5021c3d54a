"""Measure the probability of hits over kinds of text that the bundled verifier was not fitted to.

    python benchmarks/blind_hits.py --data ../shared/data [--verifier NAME ...] [--kind NAME ...]

The labelled hits of benchmarks/natural; those left open are left out. Prints and saves measures of
the cosine's probability and of each verifier's, and for each verifier how many hits each band has,
and the share of them that is right, and how many of the right and of the wrong hits have reasons
against them. Hits of kinds that are named are printed alone.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from verifier_fitting import ALL, measures, natural_hits

from slice_os import SpanEncoder, Verdict
from slice_os.hits.bands import band_of
from slice_os.verifier.claims import claim_of
from slice_os.verifier.registry import DEFAULT, find_verifier

SETS = {
    "meetings": ("meetings", "debates"),
    "earnings calls": ("earnings", "calls"),
    "papers": ("papers",),
    "web answers": ("answers", "pages"),
    "issues": ("issues", "tickets", "reports"),
}
RESULT = Path(__file__).parent / "results" / "blind_hits.json"
Told = tuple[Verdict, bool]
"""A verdict on a hit, and whether the hit is right."""


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verifier", action="append", help=f"repeatable; {DEFAULT} and similarity")
    parser.add_argument("--kind", action="append", choices=ALL, help="repeatable")
    chosen = parser.parse_args()
    sets = {"named": tuple(chosen.kind)} if chosen.kind else SETS
    names = chosen.verifier or ["similarity", DEFAULT]
    encoder = SpanEncoder()
    found = {name: told(kinds, names, chosen.data, encoder) for name, kinds in sets.items()}
    ways = ("cosine", *names)
    found["all"] = {way: [row for one in found.values() for row in one[way]] for way in ways}
    result = {
        name: {"right": sum(right for _, right in each["cosine"]), **reported(each)}
        for name, each in found.items()
    }
    print(json.dumps(result, indent=1))
    if not chosen.kind and not chosen.verifier:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


def told(
    kinds: Sequence[str], names: Sequence[str], data: Path, encoder: SpanEncoder
) -> dict[str, list[Told]]:
    """What the cosine and verifiers say of the hits of some kinds."""
    found: defaultdict[str, list[Told]] = defaultdict(list)
    for kind in kinds:
        hits = list(natural_hits(kind, data, encoder))
        claims = [claim_of(hit) for hit, _ in hits]
        right = [says for _, says in hits]
        cosines = [Verdict(claim.prior or 0.0) for claim in claims]
        verdicts = {name: find_verifier(name, encoder).check(claims) for name in names}
        for name, each in {"cosine": cosines, **verdicts}.items():
            found[name] += zip(each, right, strict=True)
    return found


def reported(found: dict[str, list[Told]]) -> dict[str, object]:
    """Measures of each way to tell how likely hits are."""
    return {
        name: {
            "hits": len(rows),
            **measures(
                np.array([verdict.probability for verdict, _ in rows]),
                np.array([right for _, right in rows], dtype=np.float64),
            ),
            "bands": banded(rows),
            "right, and wrong, with reasons": [
                sum(bool(verdict.reasons) for verdict, right in rows if right is says)
                for says in (True, False)
            ],
        }
        for name, rows in found.items()
    }


def banded(rows: Sequence[Told]) -> dict[str, tuple[int, float]]:
    """The number of hits in each band, and the share of them that is right."""
    bands: defaultdict[str, list[bool]] = defaultdict(list)
    for verdict, right in rows:
        bands[band_of(verdict.probability)].append(right)
    return {band: (len(says), round(sum(says) / len(says), 3)) for band, says in bands.items()}


if __name__ == "__main__":
    main()

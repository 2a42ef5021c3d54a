"""How many hits must be read so that the right ones come first?

    python benchmarks/reading_order.py --data ../shared/data [--kind NAME ...]

A search reads some of its first fifty hits by score, which the estimate by similarity holds
likeliest, and puts these in order by their probability; the others follow in theirs. Over the kinds
of text in benchmarks/natural, by the number of hits read: the mean nDCG@10 of the hits that people
labelled, those without a label left out, and the mean nDCG@10 against the order if all fifty are
read (a gain is a probability of .15 or more). With none read, hits stay in the order of their
scores. What is read of a hit depends on nothing but the hit, so only the order is at stake.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from natural_hits import found, labels_of
from verifier_fitting import ALL, gained

from slice_os import SpanEncoder
from slice_os.arrays import Float64Array, IntArray
from slice_os.hits.bands import UNSURE_FROM
from slice_os.query.options import REFINED
from slice_os.verifier.bundled import BundledVerifier
from slice_os.verifier.claims import claim_of

READ = (0, 10, 12, 15, 20, 30, REFINED)
RESULT = Path(__file__).parent / "results" / "reading_order.json"


def main() -> None:
    """Search, read, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kind", action="append", choices=ALL, help="repeatable; all if none")
    chosen = parser.parse_args()
    encoder = SpanEncoder()
    verifier = BundledVerifier(encoder)
    rows = {}
    for kind in chosen.kind or ALL:
        rows[kind] = measured(kind, chosen.data, encoder, verifier)
        print(kind, rows[kind].round(3).tolist(), flush=True)
    means = np.mean(list(rows.values()), axis=0).round(3).tolist()
    result = dict(zip(("labelled", "against all read"), means, strict=True))
    result = {name: dict(zip(READ, row, strict=True)) for name, row in result.items()}
    print(json.dumps(result))
    if not chosen.kind:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


def measured(
    kind: str, data: Path, encoder: SpanEncoder, verifier: BundledVerifier
) -> Float64Array:
    """``(2, len(READ))`` both measures, on average over the phrases of a kind."""
    labels = labels_of(kind)
    labelled, against = [], []
    for phrase, hits in found(kind, list(dict.fromkeys(key[0] for key in labels)), data, encoder):
        first = hits[:REFINED]
        claims = list(map(claim_of, first))
        likely = np.array([one.probability for one in verifier.check(claims)])
        estimates = np.array(verifier.estimate(claims))
        orders = [in_order(estimates, likely, read) for read in READ]
        places = [(hit.doc_id, hit.span or hit) for hit in first]
        right = np.array(
            [labels.get((phrase, doc_id, own.start, own.end)) for doc_id, own in places],
            dtype=float,
        )
        gains = np.where(likely >= UNSURE_FROM, likely, 0)
        against.append([gained(gains[order]) for order in orders])
        if 0 < np.nansum(right) < np.count_nonzero(~np.isnan(right)):
            known = [right[order][~np.isnan(right[order])] for order in orders]
            labelled.append(list(map(gained, known)))
    return np.array([np.mean(labelled, axis=0), np.mean(against, axis=0)])


def in_order(estimates: Float64Array, likely: Float64Array, read: int) -> IntArray:
    """The order of hits if so many are read first, and then the others."""
    if not read:
        return np.arange(len(likely))
    order = np.argsort(-estimates, kind="stable")
    parts = [part[np.argsort(-likely[part], kind="stable")] for part in np.split(order, [read])]
    return np.concatenate(parts)


if __name__ == "__main__":
    main()

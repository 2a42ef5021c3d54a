"""How fast and how exact the graphs of a verifier's network are.

    python benchmarks/verifier_graphs.py TORCH VERIFIER [VERIFIER ...] --store STORE

TORCH has the weights, and each VERIFIER is a folder that they were exported to. The claims are
those of the hits for some phrases. Prints milliseconds of one thread a claim, read alone and by so
many word pieces at once, the least of the rounds; how log-odds differ from those of torch in
float32, on average and at most; and how much the other claims of a batch change them at most.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from verifier_checkpoint import Network
from verify_latency import PHRASES

from slice_os import Corpus, CrossEncoderVerifier
from slice_os.encoder.token_model import plan_batches
from slice_os.verifier.claims import claim_of

PIECES = (1, 96, 192)
N_PHRASES, HITS, ROUNDS = 10, 40, 2


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("torch", type=Path)
    parser.add_argument("verifiers", type=Path, nargs="+")
    parser.add_argument("--store", required=True)
    options = parser.parse_args()
    phrases = PHRASES.read_text("utf-8").split("\n")[:N_PHRASES]
    with Corpus(options.store) as corpus:
        hits = [
            hit for phrase in phrases for hit in corpus.search(phrase, top_k=HITS, order="score")
        ]
    claims = [claim_of(hit) for hit in hits]
    network = Network(str(options.torch), options.torch / "model.safetensors")
    exact, rows = network.odds(claims), [network.inputs.row(claim) for claim in claims]
    lengths = [len(row.ids) for row in rows]
    verifiers = [CrossEncoderVerifier(folder, threads=1) for folder in options.verifiers]
    took: dict[tuple[int, int], list[float]] = {}
    odds: dict[tuple[int, int], np.ndarray] = {}
    for _ in range(ROUNDS):
        for pieces in PIECES:
            for number, verifier in enumerate(verifiers):
                found = np.zeros(len(rows))
                began = time.thread_time()
                for batch in plan_batches(lengths, pieces):
                    found[batch] = [one[0, 0] for one in verifier._run([rows[i] for i in batch])]
                took.setdefault((number, pieces), []).append(time.thread_time() - began)
                odds[number, pieces] = found
    print(f"{len(claims)} claims of {np.mean(lengths):.1f} word pieces")
    for number, folder in enumerate(options.verifiers):
        alone = odds[number, 1]
        off = np.abs(alone - exact)
        print(f"{folder}: log-odds differ by {off.mean():.3f}, at most {off.max():.2f}")
        for pieces in PIECES:
            milliseconds = 1000 * min(took[number, pieces]) / len(rows)
            others = np.abs(odds[number, pieces] - alone).max()
            print(f"  {pieces} pieces: {milliseconds:.2f} ms a claim, {others:.1e} by others")


if __name__ == "__main__":
    main()

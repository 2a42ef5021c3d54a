"""What a reader of vectors costs: fifty hits of a search, beside the search and the verifier.

    python benchmarks/reader_latency.py --store demo.slice --reader WEIGHTS [--phrases N]

WEIGHTS is a file that recipes/vector_reader.py made. It is written as graphs for onnxruntime, in
float32 and with products in int8; onnxruntime 1.31 loads none with products in bfloat16 on a CPU.
For each phrase, in turn: a search that reads nothing, and one that carries vectors; the words that
the reader reads of the hits, and reading them; both parts of the bundled verifier on the same hits,
nothing remembered. Prints and saves the median and the least milliseconds of processor time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import onnx
import torch
from onnxruntime import InferenceSession, SessionOptions
from onnxruntime.quantization import QuantType, quantize_dynamic
from reader_order import opened
from verify_latency import PHRASES

from recipes.verifier_parts.near_words import feeds, near
from recipes.verifier_parts.readings import Teacher
from slice_os import Corpus, CrossEncoderVerifier, Hit, SpanEncoder
from slice_os.query.options import SearchOptions
from slice_os.search.run import make_query, search
from slice_os.verifier import cross_encoder
from slice_os.verifier.bundled import NETWORK
from slice_os.verifier.claims import claim_of
from slice_os.verifier.wording.verifier import WordingVerifier

HITS, AT_ONCE, ROUNDS = 50, 10, 3
RESULT = Path(__file__).parent / "results" / "reader_latency.json"
T = TypeVar("T")


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--reader", type=Path, required=True)
    parser.add_argument("--phrases", type=int, default=6)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    cross_encoder._REMEMBERED = 0
    encoder = SpanEncoder(threads=1)
    network, wording = CrossEncoderVerifier(NETWORK, threads=1), WordingVerifier(encoder)
    teacher = Teacher(encoder, network)
    phrases = PHRASES.read_text("utf-8").split("\n")[: chosen.phrases]
    took: defaultdict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name, Corpus(chosen.store, encoder) as corpus:
        sessions, sizes = graphs(chosen.reader, Path(name))

        def timed(what: str, work: Callable[..., T], *given: Any) -> T:
            began = time.process_time()
            done = work(*given)
            took[what].append(1000 * (time.process_time() - began))
            return done

        def found(phrase: str, vectors: bool) -> list[Hit]:
            query = make_query(encoder, phrase, word_vectors=vectors)
            return list(search(corpus.store, query, SearchOptions(top_k=HITS if vectors else 10)))

        for phrase in phrases * ROUNDS:
            timed("plain search, ten hits", found, phrase, False)
            hits = timed(f"plain search, {HITS} hits with vectors", found, phrase, True)
            claims = [claim_of(hit) for hit in hits]
            ours = timed("reader: phrase", teacher.phrase, phrase)
            ready = timed("reader: words of hits", lambda some: list(map(near, some)), hits)
            ready.sort(key=lambda one: len(one.parts))
            parts = [
                feeds([ours] * len(some), some)
                for some in (ready[at : at + AT_ONCE] for at in range(0, len(ready), AT_ONCE))
            ]
            for kind, session in sessions.items():
                timed(f"reader: {kind}", read, session, parts)
            timed("wording", wording.check, claims)
            timed("network", network.check, claims)
            timed("network, ten hits", network.check, claims[:10])
    result = {
        what: {"median": round(statistics.median(times), 2), "least": round(min(times), 2)}
        for what, times in took.items()
    }
    print(json.dumps({"bytes": sizes, "ms": result}, indent=1))
    RESULT.write_text(json.dumps({"bytes": sizes, "ms": result}, indent=1) + "\n")


def read(session: InferenceSession, parts: Sequence[dict[str, Any]]) -> list[Any]:
    """The outputs for some hits at a time."""
    return [session.run(None, part) for part in parts]


def graphs(reader: Path, folder: Path) -> tuple[dict[str, InferenceSession], dict[str, int]]:
    """A session of one thread for each precision, and the bytes of each graph."""
    network = opened(reader)
    n, long, width = 2, 3, network.own.weight.shape[1]
    words, mask = torch.zeros(n, long, width), torch.ones(n, long)
    inputs = (words, mask, words, mask, mask.long(), mask.long(), torch.zeros(n, 2))
    names = ("ours", "our_mask", "theirs", "their_mask", "sides", "places", "numbers")
    axes = {
        name: {0: "n", 1: "ours" if name.startswith("our") else "theirs"} for name in names[:-1]
    }
    axes |= {"numbers": {0: "n"}, "odds": {0: "n"}}
    full, small = folder / "fp32.onnx", folder / "int8.onnx"
    torch.onnx.export(
        *(network, inputs, str(full)),
        input_names=list(names),
        output_names=["odds"],
        dynamic_axes=axes,
        dynamo=False,
        opset_version=17,
    )
    quantize_dynamic(
        *(str(full), str(small)),
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )
    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    paths = {"fp32": full, "int8": small}
    sessions = {name: InferenceSession(str(path), options) for name, path in paths.items()}
    return sessions, {name: path.stat().st_size for name, path in paths.items()}


if __name__ == "__main__":
    main()

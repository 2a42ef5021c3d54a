"""Compare what networks compute on this processor and on one that has AVX2 and nothing newer.

    python benchmarks/processors.py [--hits] [--former FOLDER] [--write VARIANT FOLDER]
        [--texts N] [--rounds N]

Both bundled networks, and variants that are made of their files, read the same texts, once as they
are and once with `avx2_only.c` before them; `qemu-x86_64 -cpu Haswell python` gives the same
numbers. Times are the least of several runs on one thread. With `--hits`, the demo documents are
ingested and mined for 100 phrases on both, too. FOLDER has former networks in folders of the same
names. `--write` leaves a variant of the encoder as a model folder, for `slice-os eval`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from slice_os import Corpus, SpanEncoder
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.integers import EXACT, saturates
from slice_os.encoder.model_folder import BUNDLED, content_id

HERE = Path(__file__).parent
RESULT = HERE / "results" / "processors.json"
DEMO = HERE.parent / "demo"
SOURCES = (DEMO / "contracts", DEMO / "dialogues.jsonl")
NETWORKS = ("slice-mini", "slice-verify")
PIECES = 120
SPANS = (1, 2, 3, 5, 8, 12, 20)


def unsigned(model: Any) -> None:
    """Store weights as unsigned bytes."""
    _change_weights(
        model, lambda weights: (weights.astype(np.int16) + 128).astype(np.uint8), 1, 128
    )


def seven_bits(model: Any) -> None:
    """Store weights in seven bits, so that no sum of two products leaves 16 bits."""
    _change_weights(model, lambda weights: np.rint(weights / 2).astype(np.int8), 2, 0)


def _change_weights(model: Any, change: Callable[[Any], Any], factor: float, zero: int) -> None:
    from onnx import numpy_helper

    tensors = {tensor.name: tensor for tensor in model.graph.initializer}

    def replace(name: str, values: Any) -> None:
        tensors[name].CopyFrom(numpy_helper.from_array(values, name))

    places = {"MatMulInteger": (1, 3), "Attention": (1, 7)}
    for node in model.graph.node:
        if node.op_type in places:
            weights, zeros = (node.input[place] for place in places[node.op_type])
            values = change(numpy_helper.to_array(tensors[weights]))
            replace(weights, values)
            shape = numpy_helper.to_array(tensors[zeros]).shape
            replace(zeros, np.full(shape, zero, values.dtype))
            scale = weights.replace("_quantized", "_scale")
            replace(scale, np.float32(factor) * numpy_helper.to_array(tensors[scale]))


CHANGES: dict[str, tuple[Callable[[Any], None], bool]] = {
    "bundled": (lambda model: None, True),
    "unsigned weights": (unsigned, False),
    "weights of seven bits": (seven_bits, False),
}


def write_variant(source: Path, name: str, folder: Path) -> Path:
    """Write a network with the change of a variant."""
    import onnx

    model = onnx.load(source)
    CHANGES[name][0](model)
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def read(model: Path, exact: bool, out: Path, n_texts: int, rounds: int) -> None:
    """Save the network's numbers for the texts, and print milliseconds a text."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if exact and saturates():
        options.add_session_config_entry(*EXACT)
    session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
    names = {put.name for put in session.get_inputs()}
    aligner = Aligner(BUNDLED / "slice-mini" / "tokenizer.json")
    contracts = [file.read_text("utf-8") for file in sorted(SOURCES[0].iterdir())]
    lines = SOURCES[1].read_text("utf-8").splitlines()[:n_texts]
    calls = [" ".join(turn["text"] for turn in json.loads(line)["text"]) for line in lines]
    outputs, milliseconds = [], []
    for text in [*contracts, *calls][:n_texts]:
        pieces = aligner.align(text).piece_ids[:PIECES]
        ids = np.array([[*aligner.prefix, *pieces, *aligner.suffix]])
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        feeds |= {"token_type_ids": np.zeros_like(ids)} if "token_type_ids" in names else {}
        times = []
        for _ in range(rounds):
            began = time.thread_time()
            (output,) = session.run(None, feeds)
            times.append(time.thread_time() - began)
        outputs.append(output[0])
        milliseconds.append(1000 * min(times))
    np.savez(out, *outputs)
    print(json.dumps({"ms": round(float(np.mean(milliseconds)), 2)}))


def mined(folder: Path) -> list[tuple[str, str, int, int, float]]:
    """The hits of all phrases over the demo documents, ingested into a folder."""
    files = [HERE / "phrases.txt", *sorted((HERE / "natural").glob("*.txt"))]
    phrases = [line for file in files for line in file.read_text("utf-8").splitlines()][:100]
    with Corpus(folder / "demo.slice") as corpus:
        corpus.ingest(SOURCES)
        hits = corpus.mine(phrases, threshold=0.55, verify=False)
        return sorted((h.phrase, h.doc_id, h.start, h.end, h.cosine) for h in hits)


def on_both(arguments: list[str], library: Path) -> list[str]:
    """What this script prints with some arguments: on this processor, and with AVX2 alone."""
    command = [sys.executable, __file__, *arguments]
    environments = [os.environ, {**os.environ, "LD_PRELOAD": str(library)}]
    return [
        subprocess.run(
            [*command, str(number)], env=environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        for number, environment in enumerate(environments)
    ]


def compared(
    network: str, name: str, model: Path, exact: bool, library: Path, sizes: list[str]
) -> dict[str, Any]:
    """How far apart the processors are with a network, its speed and its size."""
    folder = library.parent
    arguments = [*sizes, "--read", str(model), str(int(exact)), str(folder)]
    times = [json.loads(printed)["ms"] for printed in on_both(arguments, library)]
    here, there = (np.load(folder / f"{number}.npz") for number in range(2))
    row = {
        "network": network,
        "variant": name,
        "here_ms": times[0],
        "avx2_ms": times[1],
        "bytes": model.stat().st_size,
    }
    row["equal"] = all(bool((here[text] == there[text]).all()) for text in here.files)
    if network == "slice-verify":
        odds = [np.array([one[text][0, 0] for text in one.files]) for one in (here, there)]
        chances = [1 / (1 + np.exp(-one.astype(np.float64))) for one in odds]
        return {**row, "largest_difference": float(np.abs(chances[0] - chances[1]).max())}
    phrases = SpanEncoder().encode_phrases((HERE / "phrases.txt").read_text("utf-8").splitlines())
    differences = [
        np.abs(_cosines(here[text], phrases, words) - _cosines(there[text], phrases, words))
        for text in here.files
        for words in SPANS
    ]
    pooled = np.concatenate([one.ravel() for one in differences])
    return {
        **row,
        "largest_difference": float(pooled.max()),
        "mean_difference": float(pooled.mean()),
    }


def _cosines(vectors: Any, phrases: Any, words: int) -> Any:
    sums = np.cumsum(np.vstack([np.zeros(vectors.shape[1]), vectors]), axis=0)
    spans = sums[words:] - sums[:-words]
    return spans / np.linalg.norm(spans, axis=1, keepdims=True) @ phrases.T


def main() -> None:
    """Compare, print and save; or one of the steps that this script starts itself for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hits", action="store_true")
    parser.add_argument("--former", type=Path, help="folder with former networks, to compare")
    parser.add_argument("--write", nargs=2, metavar=("VARIANT", "FOLDER"))
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each text")
    parser.add_argument("--read", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--mine", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        model, exact, folder, number = options.read
        out = Path(folder) / f"{number}.npz"
        return read(Path(model), exact == "1", out, options.texts, options.rounds)
    if options.mine:
        return print(json.dumps(mined(Path(options.mine[0]) / options.mine[1])))
    if options.write:
        name, folder = options.write[0], Path(options.write[1])
        folder.mkdir(parents=True)
        for file in (BUNDLED / "slice-mini").iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        write_variant(BUNDLED / "slice-mini" / "model.onnx", name, folder)
        changed = content_id(folder)
        for file in (folder / "model.json", folder / "calibration.json"):
            card = json.loads(file.read_text("utf-8"))
            card.pop("checksum", None)
            file.write_text(json.dumps({**card, "encoder_id": changed}), "utf-8")
        return None
    sizes = ["--texts", str(options.texts), "--rounds", str(options.rounds)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        library = folder / "avx2_only.so"
        source = str(HERE / "avx2_only.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
        rows = []
        for network in NETWORKS:
            if options.former:
                model = options.former / network / "model.onnx"
                rows.append(compared(network, "former", model, False, library, sizes))
                exactly = "former, exact integers"
                rows.append(compared(network, exactly, model, True, library, sizes))
            for name, (_, exact) in CHANGES.items():
                model = write_variant(BUNDLED / network / "model.onnx", name, folder)
                rows.append(compared(network, name, model, exact, library, sizes))
        result: dict[str, Any] = {"rows": rows}
        if options.hits:
            here, there = map(json.loads, on_both(["--mine", str(folder)], library))
            places = [{tuple(hit[:4]): hit[4] for hit in hits} for hits in (here, there)]
            both = places[0].keys() & places[1].keys()
            result["hits"] = {
                "here": len(here),
                "on_one_alone": len(places[0].keys() ^ places[1].keys()),
                "largest_difference": max(abs(places[0][hit] - places[1][hit]) for hit in both),
            }
    for row in rows:
        print(json.dumps(row))
    print(json.dumps(result.get("hits")))
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()

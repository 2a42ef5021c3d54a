"""Float products: an ONNX model that quantises no activations.

onnxruntime has fast kernels for `DynamicQuantizeLinear` and `MatMulInteger`. OpenVINO takes them
apart into many slow operators; but where the CPU has bfloat16 units, it multiplies floats faster
than onnxruntime multiplies integers. The weights keep their int8 values, so only the rounding of
the activations goes away.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slice_os.arrays import FloatArray

if TYPE_CHECKING:
    from onnx import ModelProto


def with_float_products(model_file: Path) -> ModelProto:
    """Read an ONNX model, with every dynamically quantised product as a product of floats.

    What only the quantised products needed stays in the graph, unused.

    Args:
        model_file: an ONNX file; one without such products is returned as it is.

    Raises:
        google.protobuf.message.DecodeError: if the file is not ONNX.
    """
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(model_file)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    makers = {output: node for node in model.graph.node for output in node.output}
    for node in model.graph.node:
        product = _product(node, makers, constants)
        if product is not None:
            source, weights = product
            name = f"{node.output[0]}_float_weights"
            model.graph.initializer.append(numpy_helper.from_array(weights, name))
            node.CopyFrom(helper.make_node("MatMul", [source, name], node.output))
    return model


def _product(
    node: Any, makers: dict[str, Any], constants: dict[str, Any]
) -> tuple[str, FloatArray] | None:
    """Input and float weights of the product that ends in ``node``; None if none does.

    A quantised product is Mul(Cast(MatMulInteger(x', w', ...)), Mul(x_scale, w_scale)), where x'
    and x_scale come from DynamicQuantizeLinear(x).
    """
    if node.op_type != "Mul":
        return None
    cast, scales = (makers.get(name) for name in node.input)
    integers = makers.get(cast.input[0]) if cast is not None else None
    if integers is None or integers.op_type != "MatMulInteger" or scales is None:
        return None
    quantize = makers.get(integers.input[0])
    weight_scale = next((name for name in scales.input if name in constants), None)
    if (
        quantize is None
        or quantize.op_type != "DynamicQuantizeLinear"
        or quantize.output[1] not in scales.input
        or weight_scale is None
        or integers.input[1] not in constants
    ):
        return None
    zero = constants[integers.input[3]] if len(integers.input) > 3 else 0
    weights = constants[integers.input[1]].astype(np.float32) - zero
    return quantize.input[0], weights.astype(np.float32) * constants[weight_scale]

"""Graphs: a torch encoder as an ONNX file that gives token vectors, at a precision.

For int8 a model is first smoothed: made easy to quantise without changing what it computes. A
dynamically quantised MatMul has one scale for its whole input, so a few large channels cost all
others their resolution. Dividing each channel of the input by a factor and multiplying the matching
row of the weights by it moves the burden into the weights, which have a scale for every column
(SmoothQuant, Xiao et al. 2023, here with typical instead of largest activations). A quantised
embedding table has one scale, too, so its columns are scaled to one size.

Claims are read several at a time, and no result may depend on the others. So in int8 their
activations have fixed scales, and queries, keys and values come from one product.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.hugging_face import one_line
from slice_os.encoder.model_folder import MODEL_FILE
from slice_os.errors import ModelError
from slice_os.export.ordered import sum_in_order
from slice_os.export.parity import Feeds

# What optimum exports: a task, and the name of its only output.
TOKEN_VECTORS = ("feature-extraction", "last_hidden_state")
CLAIMS = ("token-classification", "logits")
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
RECIPES = {
    "fp32": "graph optimized",
    "fp16": "graph optimized, float16 inside and float32 outside",
    "int8": "graph optimized, smoothed, MatMul and embeddings quantised (activations dynamic, "
    "weights per channel), sums in order",
}
CLAIM_RECIPES = RECIPES | {
    "int8": "graph optimized, attention fused, smoothed, MatMul, attention and embeddings "
    "quantised (activations by fixed scales, weights per channel), sums in order",
}
# Share of the burden that the weights take; the best of .5 to .8 on text not calibrated with.
STRENGTHS = {TOKEN_VECTORS: 0.65, CLAIMS: 0.7}
_SMALLEST = 1e-5
# Operators with a matrix of weights as their second input.
_PRODUCTS = ("MatMul", "Attention")
# Percentiles of the least and of the largest number of a calibration claim; 8 bits are for what is
# between.
_COMMON = (5, 95)


def write_graph(
    model: Any,
    precision: str,
    calibration: Sequence[Feeds],
    out: Path,
    kind: tuple[str, str] = TOKEN_VECTORS,
) -> None:
    """Write a torch encoder as an ONNX file.

    Its inputs are those of ``INPUTS`` that the model reads, int64 ``(batch, sequence)``. Its only
    output is float32 at any precision: ``last_hidden_state``, ``(batch, sequence, dimension)``, or
    ``logits``, ``(batch, sequence, n_outputs)``. Only int8 uses the calibration: typical inputs,
    without padding.

    Raises a `ModelError` if optimum cannot export the model, or it needs other inputs.
    """
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        optimized = Path(folder) / "optimized.onnx"
        plain = _to_onnx(model, Path(folder) / "plain", kind)
        # Folds constants and drops what computes nothing; all operators stay standard, since
        # onnxruntime fuses as it loads.
        quant_pre_process(str(plain), str(optimized), skip_symbolic_shape=True)
        if precision == "fp32":
            optimized.replace(out)
        elif precision == "fp16":
            import onnx
            from onnxruntime.transformers.onnx_model import OnnxModel

            half = OnnxModel(onnx.load(optimized))
            half.convert_float_to_float16(keep_io_types=True)
            half.save_model_to_file(str(out))
        else:
            smoothed = Path(folder) / "smoothed.onnx"
            if kind == CLAIMS:
                _fuse_attention(optimized, model.config)
            _smooth(optimized, calibration, smoothed, STRENGTHS[kind])
            _to_int8(smoothed, out)
            if kind == CLAIMS:
                _fix_scales(out, calibration)
            sum_in_order(out)


def _to_onnx(model: Any, folder: Path, kind: tuple[str, str]) -> Path:
    import onnx
    from optimum.exporters.onnx import onnx_export_from_model

    try:
        onnx_export_from_model(model, folder, task=kind[0], do_validation=False)
    except Exception as error:  # tracing an unknown model raises whatever its code does
        name = model.config.model_type
        raise ModelError(f"optimum cannot export a {name!r} model ({one_line(error)})") from error
    graph = onnx.load(folder / MODEL_FILE, load_external_data=False).graph
    inputs, outputs = ([put.name for put in puts] for puts in (graph.input, graph.output))
    if not INPUTS.issuperset(inputs) or outputs != [kind[1]]:
        raise ModelError(
            f"a {model.config.model_type!r} model is not an encoder of tokens: "
            f"it reads {', '.join(inputs)} and returns {', '.join(outputs)}"
        )
    if any(path.name.startswith(f"{MODEL_FILE}_") for path in folder.iterdir()):
        raise ModelError("the model is larger than the 2 GB of an ONNX file; use a smaller one")
    return folder / MODEL_FILE


def _fuse_attention(model_file: Path, config: Any) -> None:
    """Make one operator of each BERT attention; attention of another kind stays as it is."""
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    chosen = FusionOptions("bert")
    for name in vars(chosen):
        if name.startswith("enable_"):
            setattr(chosen, name, name in ("enable_attention", "enable_layer_norm"))
    sizes = config.num_attention_heads, config.hidden_size
    fused = optimize_model(str(model_file), "bert", *sizes, chosen, opt_level=0)
    fused.save_model_to_file(str(model_file))


def _to_int8(source: Path, out: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        str(source),
        str(out),
        op_types_to_quantize=[*_PRODUCTS, "Gather"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def _fix_scales(model_file: Path, batches: Sequence[Feeds]) -> None:
    """Quantise each activation by the numbers that it commonly has, not by those at hand."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(model_file)
    nodes = [node for node in model.graph.node if node.op_type == "DynamicQuantizeLinear"]
    runs = _runs(onnx.load(model_file), [node.input[0] for node in nodes], batches)
    extremes = np.array([[(value.min(), value.max()) for value in values] for values in runs])
    lows, highs = (np.percentile(extremes[..., i], _COMMON[i], axis=0) for i in (0, 1))
    for node, low, high in zip(nodes, np.minimum(lows, 0), np.maximum(highs, 0), strict=True):
        scale = np.float32(max(high - low, _SMALLEST) / np.iinfo(np.uint8).max)
        zero = np.rint(-low / scale).astype(np.uint8)
        for value, name in zip((scale, zero), node.output[1:], strict=True):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        node.op_type = "QuantizeLinear"
        node.input.extend(node.output[1:])
        del node.output[1:]
    onnx.save(model, model_file)


def _smooth(model_file: Path, batches: Sequence[Feeds], out: Path, strength: float) -> None:
    """Write an fp32 model that computes the same and quantises better."""
    import onnx
    from onnx import numpy_helper
    from onnxruntime.quantization.onnx_model import ONNXModel

    model = ONNXModel(onnx.load(model_file))
    matrices: dict[str, FloatArray] = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in model.initializer()
        if len(tensor.dims) == 2 and tensor.data_type == onnx.TensorProto.FLOAT
    }
    groups: dict[str, list[Any]] = defaultdict(list)
    for node in model.nodes():
        if node.op_type in _PRODUCTS and node.input[1] in matrices:
            groups[node.input[0]].append(node)
    maxima = _typical_maxima(onnx.load(model_file), list(groups), batches)
    tables = [n for n in model.nodes() if n.op_type == "Gather" and n.input[0] in matrices]
    for name, nodes in groups.items():
        _smooth_matmuls(model, nodes, matrices, maxima[name], strength)
    for node in tables:
        _smooth_table(model, node, matrices[node.input[0]])
    model.topological_sort()
    model.clean_initializers()
    model.save_model_to_file(str(out))


def _smooth_matmuls(
    model: Any,
    nodes: Sequence[Any],
    matrices: dict[str, FloatArray],
    activations: FloatArray,
    strength: float,
) -> None:
    rows = np.hstack([np.abs(matrices[node.input[1]]) for node in nodes]).max(axis=1)
    logs = strength * np.log(np.maximum(activations, _SMALLEST))
    logs -= (1 - strength) * np.log(np.maximum(rows, _SMALLEST))
    factors = np.exp(logs - logs.mean())
    source = nodes[0].input[0]
    smoothed = _scale(model, source, f"{source}_smooth", 1 / factors)
    for node in nodes:
        weight = matrices[node.input[1]] * factors[:, None]
        node.input[0] = smoothed
        node.input[1] = _constant(model, f"{node.output[0]}_weight", weight)


def _smooth_table(model: Any, node: Any, table: FloatArray) -> None:
    """Scale the columns of an embedding table to one size, and undo it after the lookup."""
    sizes = np.maximum(np.abs(table).max(axis=0), _SMALLEST)
    output = node.output[0]
    node.input[0] = _constant(model, f"{output}_table", table / sizes)
    node.output[0] = f"{output}_even"
    _scale(model, node.output[0], output, sizes)


def _scale(model: Any, source: str, output: str, factors: FloatArray) -> str:
    from onnx import helper

    constant = _constant(model, f"{output}_factors", factors)
    model.add_node(helper.make_node("Mul", [source, constant], [output]))
    return output


def _constant(model: Any, name: str, values: FloatArray) -> str:
    from onnx import numpy_helper

    model.add_initializer(numpy_helper.from_array(values.astype(np.float32), name))
    return name


def _typical_maxima(
    model: Any, names: Sequence[str], batches: Sequence[Feeds]
) -> dict[str, FloatArray]:
    """Each channel's largest magnitude in a batch, on average over the batches."""
    maxima = [
        [np.abs(value).reshape(-1, value.shape[-1]).max(axis=0) for value in values]
        for values in _runs(model, names, batches)
    ]
    columns = zip(*maxima, strict=True)
    return {name: np.mean(rows, axis=0) for name, rows in zip(names, columns, strict=True)}


def _runs(
    model: Any, names: Sequence[str], batches: Sequence[Feeds]
) -> Iterator[Sequence[FloatArray]]:
    """The values of that name inside the model, for each batch."""
    import onnxruntime
    from onnx import TensorProto, helper

    for name in names:
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    inputs = {put.name for put in session.get_inputs()}
    for batch in batches:
        yield session.run(names, {key: ids for key, ids in batch.items() if key in inputs})

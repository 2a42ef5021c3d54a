"""Graphs: a torch encoder as an ONNX file that gives token vectors, at a precision."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slice_os.encoder.hugging_face import one_line
from slice_os.encoder.model_folder import MODEL_FILE
from slice_os.errors import ModelError
from slice_os.export.samples import Feeds
from slice_os.export.smoothing import smooth

OUTPUT = "last_hidden_state"
# What optimum exports: a task, and the name of its only output.
TOKEN_VECTORS = ("feature-extraction", OUTPUT)
LOG_ODDS = ("text-classification", "logits")
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
RECIPES = {
    "fp32": "graph optimized",
    "fp16": "graph optimized, float16 inside and float32 outside",
    "int8": "graph optimized, smoothed, MatMul and embeddings quantised (activations dynamic, "
    "weights per channel)",
}


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
    ``logits``, ``(batch, 1)``. Only int8 uses the calibration: typical inputs, without padding.

    Raises:
        ModelError: if optimum cannot export the model, or it needs other inputs.
    """
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        plain = _to_onnx(model, Path(folder) / "plain", kind)
        optimized = Path(folder) / "optimized.onnx"
        _optimize(plain, optimized)
        if precision == "fp32":
            optimized.replace(out)
        elif precision == "fp16":
            _to_float16(optimized, out)
        else:
            smoothed = Path(folder) / "smoothed.onnx"
            smooth(optimized, calibration, smoothed)
            _to_int8(smoothed, out)


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


def _optimize(source: Path, out: Path) -> None:
    """Fold constants and drop what computes nothing; all operators stay standard.

    Fusing them offline gains nothing on CPU: onnxruntime fuses as it loads, for its hardware.
    """
    from onnxruntime.quantization.shape_inference import quant_pre_process

    quant_pre_process(str(source), str(out), skip_symbolic_shape=True)


def _to_float16(source: Path, out: Path) -> None:
    import onnx
    from onnxruntime.transformers.onnx_model import OnnxModel

    model = OnnxModel(onnx.load(source))
    model.convert_float_to_float16(keep_io_types=True)
    model.save_model_to_file(str(out))


def _to_int8(source: Path, out: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        str(source),
        str(out),
        op_types_to_quantize=["MatMul", "Gather"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )

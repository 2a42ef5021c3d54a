"""Torch encoders to ONNX token-vector models: fp32, fp16 or int8, with a parity report."""

from __future__ import annotations

from slice_os.export.exporter import PRECISIONS, export_model
from slice_os.export.parity import Agreement, ParityReport

__all__ = ["PRECISIONS", "Agreement", "ParityReport", "export_model"]

"""Byte products on this processor: onnxruntime is asked, since flags do not tell its way."""

from __future__ import annotations

from functools import cache

import numpy as np

EXACT = ("session.x64quantprecision", "1")
"""The option of a session that makes its sums exact where they saturate; there it takes time."""

# An ONNX file: the product of (1, 4) bytes and a (4, 16) matrix of 127, in 32 bits.
_PRODUCT = (
    b'\x08\x04\x12\x00:\x94\x01\n\x18\n\x01a\n\x01w\x12\x01y"\rMatMulInteger\x12\x01g*K\x08\x04'
    b"\x08\x10\x10\x03B\x01wJ@" + b"\x7f" * 64 + b"Z\x13\n\x01a\x12\x0e\n\x0c\x08\x02\x12\x08\n"
    b"\x02\x08\x01\n\x02\x08\x04b\x13\n\x01y\x12\x0e\n\x0c\x08\x06\x12\x08\n\x02\x08\x01\n\x02"
    b"\x08\x10B\x04\n\x00\x10\n"
)


@cache
def saturates() -> bool:
    """Whether sums of two products of bytes are cut to 16 bits here, as by AVX2 without VNNI."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(_PRODUCT, options, providers=["CPUExecutionProvider"])
    (sums,) = session.run(None, {"a": np.full((1, 4), 255, dtype=np.uint8)})
    return bool((sums != 4 * 255 * 127).any())

"""This machine: its CPU, its inference engine, and how fast it encodes."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from slice_os.doctor.check import Check
from slice_os.encoder.span_encoder import PieceRange, SpanEncoder
from slice_os.errors import SliceError
from slice_os.threads import usable_cores

CPU_INFO = Path("/proc/cpuinfo")
# These make the multiplication of integers fast; the last three are of ARM.
FEATURES = (
    *("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16"),
    *("asimddp", "i8mm", "bf16"),
)
ROUNDS = 5
TEXT = (
    "The Supplier shall deliver the Goods on the agreed date; time is of the essence. Either party "
    "may end this agreement by giving the other two months' notice in writing. Any amount that is "
    "not paid when due bears interest at a rate of four percent per year until it is paid in full."
)


def machine_checks(
    model: str | None = None,
    providers: Sequence[str] | None = None,
    threads: int | None = None,
) -> Iterator[Check]:
    """Check the CPU and onnxruntime, and time an encoder; see `SpanEncoder` for the arguments."""
    yield _cpu()
    yield _onnxruntime()
    yield _speed(model, providers, threads)


def _cpu() -> Check:
    fields: dict[str, str] = {}
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    name = fields.get("model name") or platform.processor() or platform.machine()
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    features = [feature for feature in FEATURES if feature in flags]
    cores = usable_cores()
    told = " ".join(features) or ("none of note" if flags else "features unknown")
    facts = {"model": name, "cores": cores, "features": features if flags else None}
    return Check("cpu", f"{name}, {cores} cores; {told}", facts=facts)


def _onnxruntime() -> Check:
    import onnxruntime

    providers = [
        name.removesuffix("ExecutionProvider") for name in onnxruntime.get_available_providers()
    ]
    facts = {"version": onnxruntime.__version__, "providers": providers}
    finding = f"{onnxruntime.__version__}, providers {', '.join(providers)}"
    return Check("onnxruntime", finding, facts=facts)


def _speed(model: str | None, providers: Sequence[str] | None, threads: int | None) -> Check:
    try:
        encoder = SpanEncoder(model, providers=providers or None, threads=threads)
        rate = tokens_per_second(encoder)
    except SliceError as error:
        return Check("speed", str(error), usable=False, facts={"tokens_per_second": None})
    used = f" on {', '.join(providers)}" if providers else ""
    described = f"{encoder.card.name} {encoder.card.precision}"
    return Check(
        "speed",
        f"about {rate:,} tokens/s{used} ({described})",
        facts={"tokens_per_second": rate, "model": described, "providers": providers or None},
    )


def tokens_per_second(encoder: SpanEncoder) -> int:
    """Word pieces that an encoder reads in a second: the best of a few short runs."""
    aligned = encoder.align(TEXT)
    pieces = len(aligned.piece_ids)
    ranges = [PieceRange(aligned, 0, pieces - cut) for cut in range(16)]
    times = []
    for _ in range(ROUNDS + 1):  # the first one warms up
        began = time.perf_counter()
        for _vectors in encoder.encode_ranges(ranges):
            pass
        times.append(time.perf_counter() - began)
    total = sum(piece_range.end for piece_range in ranges)
    return round(total / min(times[1:]))

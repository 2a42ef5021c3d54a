"""Checks of this machine's engine and speed, and of a store with its server."""

from __future__ import annotations

import platform
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slice_os.encoder.integers import saturates
from slice_os.encoder.model_folder import made_by, model_folder, read_card
from slice_os.encoder.span_encoder import PieceRange, SpanEncoder
from slice_os.errors import SliceError, StoreError, UnavailableError
from slice_os.stores.cluster.search.scripted import PLUGIN
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.cluster.store import OpenSearchBackend
from slice_os.stores.registry import find_backend, open_store
from slice_os.threads import usable_cores

CPU_INFO = Path("/proc/cpuinfo")
# These make the multiplication of integers fast; the last three are of ARM.
FEATURES = (
    *("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16"),
    *("asimddp", "i8mm", "bf16"),
)
# The fastest first.
INTEGERS = {
    "amx_int8": "AMX",
    "avx512_vnni": "AVX-512 VNNI",
    "avx_vnni": "AVX VNNI",
    "i8mm": "I8MM",
    "asimddp": "dot products of NEON",
}
ROUNDS = 5
TEXT = (
    "The Supplier shall deliver the Goods on the agreed date; time is of the essence. Either party "
    "may end this agreement by giving the other two months' notice in writing. Any amount that is "
    "not paid when due bears interest at a rate of four percent per year until it is paid in full."
)
# It is compiled on every shard and computes nothing.
SCRIPT = {"lang": "painless", "source": "1.0"}
HARMLESS = {
    "size": 0,
    "terminate_after": 1,
    "query": {"script_score": {"query": {"match_all": {}}, "script": SCRIPT}},
}


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check, in one line and as plain values.

    It is not ``usable`` if something that was requested does not work.
    """

    name: str
    finding: str
    usable: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)


def machine_checks(
    model: str | None = None, providers: Sequence[str] | None = None, threads: int | None = None
) -> Iterator[Check]:
    """Check the CPU and onnxruntime, and time an encoder; see `SpanEncoder` for the arguments."""
    cpu = _cpu()
    yield cpu
    yield _integers(cpu.facts["features"] or ())
    yield _onnxruntime()
    yield _speed(model, providers, threads)


def store_checks(location: str, model: str | None = None) -> Iterator[Check]:
    """Check that a store opens, and ask a server for its versions, plugins and scripts.

    The checks end with the first that fails. Without a model, the bundled one that made the store
    is compared with it.
    """
    try:
        yield _store(location, model)
        if isinstance(find_backend(location), OpenSearchBackend):
            yield from _server(IndexHandle.at(location))
    except SliceError as error:
        yield Check("store", str(error), usable=False)


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


def _integers(features: Sequence[str]) -> Check:
    """Instructions for the bytes of an int8 model; the results are the same everywhere."""
    if saturates():
        used = "AVX2" if "avx2" in features else "no special instructions"
        finding = f"{used}, in 32 bits; with VNNI or AMX, int8 models are twice as fast"
    else:
        used = next((told for flag, told in INTEGERS.items() if flag in features), "this processor")
        finding = f"{used}, which is fast"
    return Check("integers", finding, facts={"instructions": used, "fast": not saturates()})


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
    facts = {"tokens_per_second": rate, "model": described, "providers": providers or None}
    return Check("speed", f"about {rate:,} tokens/s{used} ({described})", facts=facts)


def tokens_per_second(encoder: SpanEncoder) -> int:
    """Word pieces that an encoder reads in a second: the best of a few short runs."""
    aligned = encoder.align(TEXT)
    pieces = len(aligned.piece_ids)
    ranges = [PieceRange(aligned, 0, pieces - cut) for cut in range(16)]
    times = []
    for _ in range(ROUNDS + 1):  # the first one warms up
        began = time.perf_counter()
        deque(encoder.encode_ranges(ranges), maxlen=0)
        times.append(time.perf_counter() - began)
    total = sum(piece_range.end for piece_range in ranges)
    return round(total / min(times[1:]))


def _store(location: str, model: str | None) -> Check:
    with closing(open_store(location)) as store:
        info = store.info()
    folder = made_by(info.encoder, info.location) if model is None else model_folder(model)
    info.encoder.check_made(info.location, read_card(folder))
    facts = {
        "location": info.location,
        "schema_version": info.schema_version,
        "documents": info.documents,
        "passages": info.passages,
        "token_vectors": info.pieces,
        "encoder_id": info.encoder.encoder_id,
    }
    finding = (
        f"{info.location}: schema {info.schema_version}, {info.documents:,} documents, "
        f"{info.pieces:,} token vectors by {info.encoder.name} {info.encoder.precision}"
    )
    return Check("store", finding, facts=facts)


def _server(handle: IndexHandle) -> Iterator[Check]:
    with handle.errors_explained():
        about = handle.client.info()["version"]
    product, number = about.get("distribution", "elasticsearch"), about.get("number", "unknown")
    yield Check("server", f"{product} {number}", facts={"product": product, "version": number})
    yield from _nodes(handle)
    yield _scripts(handle)


def _nodes(handle: IndexHandle) -> Iterator[Check]:
    """The nodes and their plugins, where the server lists them; serverless ones do not."""
    try:
        with handle.errors_explained():
            nodes = handle.client.cat.nodes(h="name,version,heap.max", format="json")
            plugins = handle.client.cat.plugins(format="json")
    except UnavailableError:
        raise
    except StoreError as error:
        yield Check("nodes", f"not listed ({error})", facts={"nodes": None})
        return
    told = [f"{node['name']} {node['version']} (heap {node['heap.max']})" for node in nodes]
    yield Check("nodes", ", ".join(told), facts={"nodes": nodes})
    components = sorted({plugin["component"] for plugin in plugins})
    yield Check("plugins", ", ".join(components) or "none", facts={"plugins": components})
    having = {p["name"] for p in plugins if PLUGIN in p["component"]}
    lacking = sorted({node["name"] for node in nodes} - having)
    if not having:
        finding = "not installed; Painless scripts serve, more slowly"
    elif lacking:
        finding = f"missing on {', '.join(lacking)}; install it on every node"
    else:
        finding = "on every node"
    yield Check(PLUGIN, finding, facts={"installed": bool(having) and not lacking})


def _scripts(handle: IndexHandle) -> Check:
    try:
        handle.ask(handle.client.search, body=HARMLESS)
    except UnavailableError:
        raise
    except StoreError as error:
        finding = (
            f"not allowed, so searches fetch token vectors and take longer; allow inline scripts "
            f"(script.allowed_types) in the context score ({error})"
        )
        return Check("scripts", finding, facts={"allowed": False, "reason": str(error)})
    return Check("scripts", "Painless score scripts are allowed", facts={"allowed": True})

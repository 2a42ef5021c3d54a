"""Checks of a store: it opens with its model and, in OpenSearch, its server allows scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slice_os.doctor.check import Check
from slice_os.encoder.model_folder import bundled_model, model_folder, read_card
from slice_os.errors import SliceError, StoreError, UnavailableError
from slice_os.stores.opensearch.backend import OpenSearchBackend
from slice_os.stores.opensearch.search.scripting import PLUGIN
from slice_os.stores.opensearch.server.handle import IndexHandle
from slice_os.stores.registry import find_backend, open_store

# It is compiled on every shard and computes nothing.
HARMLESS = {
    "size": 0,
    "terminate_after": 1,
    "query": {
        "script_score": {
            "query": {"match_all": {}},
            "script": {"lang": "painless", "source": "1.0"},
        }
    },
}


def store_checks(location: str, model: str | None = None) -> Iterator[Check]:
    """Check that a store opens, and ask a server for its versions, plugins and scripts.

    Args:
        location: folder of a local store, or ``http(s)://[user@]host[:port]/index``.
        model: the model to search it with; None for the bundled one that made it.

    Yields:
        A check of the store, then those of its server, up to the first that fails.
    """
    try:
        yield _store(location, model)
        if isinstance(find_backend(location), OpenSearchBackend):
            yield from _server(IndexHandle.at(location))
    except SliceError as error:
        yield Check("store", str(error), usable=False)


def _store(location: str, model: str | None) -> Check:
    store = open_store(location)
    try:
        info = store.info()
    finally:
        store.close()
    folder = bundled_model(info.encoder, info.location) if model is None else model_folder(model)
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
    facts = {"product": product, "version": number}
    yield Check("server", f"{product} {number}", facts=facts)
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
    yield Check(
        "nodes",
        ", ".join(f"{node['name']} {node['version']} (heap {node['heap.max']})" for node in nodes),
        facts={"nodes": nodes},
    )
    components = sorted({plugin["component"] for plugin in plugins})
    yield Check("plugins", ", ".join(components) or "none", facts={"plugins": components})
    yield _native_engine(nodes, plugins)


def _native_engine(
    nodes: Sequence[Mapping[str, Any]], plugins: Sequence[Mapping[str, Any]]
) -> Check:
    having = {p["name"] for p in plugins if PLUGIN in p["component"]}
    lacking = sorted({node["name"] for node in nodes} - having)
    if not having:
        finding = "not installed; Painless scripts serve, more slowly"
    elif lacking:
        finding = f"missing on {', '.join(lacking)}; install it on every node"
    else:
        finding = "on every node"
    return Check(PLUGIN, finding, facts={"installed": bool(having) and not lacking})


def _scripts(handle: IndexHandle) -> Check:
    try:
        with handle.errors_explained():
            handle.client.search(index=handle.name, body=HARMLESS)
    except UnavailableError:
        raise
    except StoreError as error:
        finding = (
            f"not allowed, so searches fetch token vectors and take longer; allow inline scripts "
            f"(script.allowed_types) in the context score ({error})"
        )
        return Check("scripts", finding, facts={"allowed": False, "reason": str(error)})
    return Check("scripts", "Painless score scripts are allowed", facts={"allowed": True})

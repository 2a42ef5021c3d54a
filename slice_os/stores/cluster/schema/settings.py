"""Settings of an index, as stored in its mapping's ``_meta``, and its template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import Any

import orjson

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import InputError, ModelError, StoreError
from slice_os.stores.cluster.engines.engine import Engine
from slice_os.stores.cluster.schema.span_policy import SpanPolicy
from slice_os.text.words import INVISIBLE

# Indices of another version are refused: their documents have to be ingested again.
SCHEMA_VERSION = 3
META = "slice_os"
FIELD_TYPES = ("keyword", "integer", "long", "float", "double", "boolean", "date", "ip")
VECTOR_TYPES = ("byte", "float")


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Options for a new index.

    Attributes:
        policy: which spans are indexed; see `SpanPolicy.parse`.
        vectors: ``byte`` or ``float``.
        truncate_dim: length of the indexed span vectors; None for a quarter of the encoder's, or
            all if the model has no projection.
        analyzer: name of the text analyser.
        fields: types of metadata fields; OpenSearch derives those of other fields.
        shards: number of primary shards.
        replicas: number of copies of each shard.
    """

    policy: str = "grid:1,6"
    vectors: str = "byte"
    truncate_dim: int | None = None
    analyzer: str = "english"
    fields: Mapping[str, str] = field(default_factory=dict)
    shards: int = 1
    replicas: int = 1

    def __post_init__(self) -> None:
        SpanPolicy.parse(self.policy)
        if self.vectors not in VECTOR_TYPES:
            raise InputError(f"no vector type {self.vectors!r}; there are {VECTOR_TYPES}")
        for name, kind in self.fields.items():
            if kind not in FIELD_TYPES:
                raise InputError(
                    f"metadata field {name!r}: no type {kind!r}; there are {', '.join(FIELD_TYPES)}"
                )


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Settings of an index, which never change.

    Attributes:
        encoder: card of the encoder that made its vectors.
        max_pieces: word pieces that a passage holds at most.
        policy: which spans are indexed.
        vectors: ``byte`` or ``float``.
        dimensions: length of the indexed span vectors.
        projection: ``(encoder.dimension, encoder.dimension)`` of the model, of which the first
            ``dimensions`` rows are used; None if the vectors are not projected. It is too large
            for ``_meta`` and has a record of its own.
        engine: that holds the index.
    """

    encoder: ModelCard
    max_pieces: int
    policy: str
    vectors: str
    dimensions: int
    engine: Engine
    projection: FloatArray | None = field(default=None, compare=False, repr=False)

    @property
    def span_policy(self) -> SpanPolicy:
        """The policy, parsed."""
        return SpanPolicy.parse(self.policy)

    def to_meta(self) -> dict[str, Any]:
        """The form stored in the mapping's ``_meta``."""
        values = {name: getattr(self, name) for name in _IN_META}
        return {"schema_version": SCHEMA_VERSION, **values, "encoder": asdict(self.encoder)}


_IN_META = ("max_pieces", "policy", "vectors", "dimensions")


def choose(
    options: IndexOptions,
    card: ModelCard,
    max_pieces: int,
    projection: FloatArray | None,
    engine: Engine,
) -> IndexSettings:
    """The settings of a new index.

    Raises an `InputError` on more dimensions than the encoder has, or fewer if it has no
    projection.
    """
    full = card.dimension
    dimensions = options.truncate_dim
    if dimensions is None:
        dimensions = full if projection is None else full // 4
    if not 1 <= dimensions <= full:
        raise InputError(f"{dimensions} dimensions; the encoder has {full}")
    if dimensions == full:
        projection = None
    elif projection is None:
        raise InputError(
            f"{dimensions} of {full} dimensions need the model's projection.npy; export again"
        )
    made_with = (options.policy, options.vectors, dimensions, engine)
    return IndexSettings(card, max_pieces, *made_with, projection)


def noted(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """What slice-os has noted in a mapping; nothing if it did not make the index."""
    ours: dict[str, Any] = mapping.get("_meta", {}).get(META, {})
    return ours


def settings_of(mapping: Mapping[str, Any], location: str, engine: Engine) -> IndexSettings:
    """Read the ``_meta`` of an index's mapping.

    Raises a `StoreError` if slice-os did not make the index, or another version did, or if its
    fields are not such as the engine searches.
    """
    meta = mapping.get("_meta", {}).get(META)
    if meta is None:
        raise StoreError(f"{location}: an index, but not one that slice-os made; name another")
    damaged = StoreError(f"{location}: its settings are damaged; ingest again into a new index")
    if not isinstance(meta, dict) or not meta.keys() >= {"schema_version", "encoder", *_IN_META}:
        raise damaged
    if (schema := meta["schema_version"]) != SCHEMA_VERSION:
        raise StoreError(
            f"{location}: index has schema version {schema}, this slice-os reads "
            f"{SCHEMA_VERSION}; upgrade slice-os, or ingest again into a new index"
        )
    fields = mapping.get("properties", {})
    fields = fields | fields.get("spans", {}).get("properties", {})
    wanted = {"reading": "text", "tokens": "binary", "vec": engine.vector_type}
    for name, kind in wanted.items():
        if (there := fields.get(name, {}).get("type")) != kind:
            raise StoreError(
                f"{location}: its field {name} is of type {there or 'unknown'}, but {engine.name} "
                f"searches {kind}; the index was copied from another engine, or its mapping was "
                "changed: ingest again into a new index"
            )
    values = {name: meta[name] for name in _IN_META}
    try:
        return IndexSettings(ModelCard.from_fields(meta["encoder"]), **values, engine=engine)
    except (ModelError, TypeError, AttributeError):
        raise damaged from None


def template(pattern: str, options: IndexOptions, settings: IndexSettings) -> dict[str, Any]:
    """The composable index template for indices whose names match a pattern."""
    file = files("slice_os.mappings") / f"passages-v{SCHEMA_VERSION}.json"
    body: dict[str, Any] = orjson.loads(file.read_bytes())
    body["index_patterns"] = [pattern]
    # Of `calls-2026-0*` and `calls-2026-01-0*`, both of which match, the longer one wins.
    body["priority"] += len(pattern)
    index, mappings = body["template"]["settings"]["index"], body["template"]["mappings"]
    index |= {"number_of_shards": options.shards, "number_of_replicas": options.replicas}
    mappings["_meta"] = {META: settings.to_meta()}
    analysis = body["template"]["settings"]["analysis"]
    analysis["char_filter"]["invisible"]["pattern"] = f"[{INVISIBLE}]"
    properties = mappings["properties"]
    properties["reading"]["analyzer"] = options.analyzer
    fields = {name: {"type": kind} for name, kind in options.fields.items()}
    properties["metadata"]["properties"] = fields
    engine = settings.engine
    index |= engine.index_settings
    vector = engine.vector_field(settings.dimensions, settings.vectors)
    properties["spans"]["properties"]["vec"] = vector
    return body

"""What is told of stores."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from slice_os.stores.protocol import FieldValue


class StoreEntry(BaseModel):
    """A store that is served.

    Attributes:
        name: that requests use.
        kind: a folder on the service's disk, or an index in OpenSearch.
        documents: number of documents.
        passages: number of passages.
        pieces: number of token vectors.
        encoder: name of the model that made them.
        threshold: the cosine from which a span counts as a hit by default.
        fields: metadata fields that filters can name, and their kinds.
    """

    name: str
    kind: Literal["local", "opensearch"]
    documents: int
    passages: int
    pieces: int
    encoder: str
    threshold: float
    fields: dict[str, Literal["text", "number"]]


class StoresAnswer(BaseModel):
    """The stores that are served, in the order given."""

    stores: list[StoreEntry]


class FieldValuesAnswer(BaseModel):
    """The most frequent values of a metadata field."""

    values: list[FieldValue]

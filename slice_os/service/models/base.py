"""What all bodies of requests have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1, max_length=10_000)]
PhraseList = str | list[str]
"""One phrase, or several that mean the same."""

Filters = Annotated[
    Mapping[str, Any] | None,
    Field(
        description="Metadata fields, each with the value or values that it may have, or with "
        'operators: {"csat": {"gte": 3}, "domain": ["bank", "airline"]}.'
    ),
]


class Body(BaseModel):
    """A body of a request: types are exact, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

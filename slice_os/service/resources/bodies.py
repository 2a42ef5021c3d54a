"""Types that the bodies of several requests use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from slice_os.service.settings import LONGEST_PHRASE, MOST_PHRASES

Text = Annotated[str, Field(min_length=1, max_length=LONGEST_PHRASE)]
PhraseList = Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_PHRASES)]
"""One phrase, or several that mean the same."""

StoreName = Annotated[str | None, Field(description="May be missing if one store is served.")]


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


WHOLE = BeforeValidator(_whole)
"""For whole numbers; in JSON, 3.0 is one, too."""

Filters = Annotated[
    Mapping[str, Any] | None,
    Field(
        description="Metadata fields, each with the value or values that it may have, or with "
        'operators: {"csat": {"gte": 3}, "domain": ["bank", "airline"]}; `_id` is the id of the '
        "document."
    ),
]


class Body(BaseModel):
    """A body of a request: types are exact, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

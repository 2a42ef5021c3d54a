"""What resources share: types and fields of requests, handlers, and answers as JSON."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import MISSING, fields
from functools import partial, wraps
from inspect import cleandoc, iscoroutinefunction, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_type_hints

import orjson
from fastapi import APIRouter
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response
from typing_extensions import Self

from slice_os.errors import InputError
from slice_os.query.filters import check_size
from slice_os.query.options import FUSION_NAMES, MAX_CANDIDATES, ORDERS, HitOptions
from slice_os.records import type_hints
from slice_os.service.asgi.json_bodies import JsonRoute
from slice_os.service.asgi.work import LaneName
from slice_os.service.services import Services
from slice_os.service.settings import LONGEST_PHRASE, LONGEST_PHRASES, MOST_HITS, MOST_PHRASES
from slice_os.text.documents import check_text
from slice_os.verifier.registry import verifier_names


class _AnyPath(PathConvertor):
    """The rest of a path, also with line ends: otherwise one at its end would be lost."""

    regex = "(?s:.*)"


register_url_convertor("path", _AnyPath())


def _passing(check: Callable[[Any], object]) -> AfterValidator:
    """Refuses a value with the message of the InputError that a check raises."""

    def passed(value: Any) -> Any:
        try:
            check(value)
        except InputError as error:
            raise ValueError(str(error)) from None
        return value

    return AfterValidator(passed)


AnyText = Annotated[str, _passing(partial(check_text, where="text"))]
"""A text of characters that can be stored, maybe empty."""

Item = TypeVar("Item")
Many: TypeAlias = Annotated[list[Item], Field(fail_fast=True)]
"""A list in a request; of one with many faults, the first is told."""

Text = Annotated[str, Field(min_length=1, max_length=LONGEST_PHRASE)]
PhraseList = Text | Annotated[Many[Text], Field(min_length=1, max_length=MOST_PHRASES)]
"""One phrase, or several that mean the same."""

StoreName = Annotated[str | None, Field(description="May be missing if one store is served.")]


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


WHOLE = BeforeValidator(_whole)
"""For whole numbers; in JSON, 3.0 is one, too."""


Filters = Annotated[
    Annotated[Mapping[str, Any], _passing(check_size)] | None,
    Field(
        description="Metadata fields, each with the value or values that it may have, or with "
        'operators: {"csat": {"gte": 3}, "domain": ["bank", "airline"]}; `_id` is the id of the '
        "document."
    ),
]


class Body(BaseModel):
    """A body of a request: types are exact, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class StoreBody(Body):
    """A body of a request to a store."""

    store: StoreName = None


_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATACLASS
_MOST_BYTES = 128 << 20


class JsonAnswer(Response):
    """An answer of JSON types, arrays of numbers and the library's records; nothing is checked."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the answer.

        Raises an `InputError` if its records have more bytes than an answer may have: each hit
        repeats its passage and the metadata of its document.
        """
        left = _MOST_BYTES

        def packed(record: Any) -> orjson.Fragment:
            nonlocal left
            one = orjson.dumps(_plain(record), _plain, _OPTIONS)
            left -= len(one)
            if left < 0:
                raise InputError(
                    f"the answer has more than {_MOST_BYTES >> 20} MiB; ask for less, or look in "
                    "documents with less metadata"
                )
            return orjson.Fragment(one)

        try:
            return orjson.dumps(content, packed, _OPTIONS)
        except orjson.JSONEncodeError as error:
            raise error.__cause__ or error from None


def _plain(one: Any) -> Any:
    """A record of the library as JSON has it."""
    if hasattr(one, "to_dict"):
        return one.to_dict()
    return {field.name: getattr(one, field.name) for field in fields(one)}


def answer_of(kind: type, *without: str, sparse: bool = False, **types: Any) -> Any:
    """The model of an answer: a record of the library, as its fields declare it.

    Args:
        kind: the record.
        without: fields that the answer does not have.
        sparse: whether those with a usual value may be missing.
        types: of fields that JSON has in another way.
    """
    told: dict[str, Any] = {
        field.name: (hint, ... if field.default is MISSING or not sparse else field.default)
        for field, hint in zip(fields(kind), type_hints(kind).values(), strict=True)
        if field.name not in without
    }
    named = {name: one if isinstance(one, tuple) else (one, ...) for name, one in types.items()}
    return create_model(kind.__name__, __doc__=kind.__doc__, **{**told, **named})


Work: TypeAlias = Callable[..., Any]
"""Blocks, and returns an answer, or the JSON of one; its first parameter is ``services``."""

Handler: TypeAlias = Callable[..., Awaitable[Response]]


def pooled(lane: LaneName) -> Callable[[Work], Handler]:
    """Run the work of a request in a lane of the pool, within its time."""

    def decorated(work: Work) -> Handler:
        @wraps(work)
        async def handled(services: Services, **given: Any) -> Response:
            def answered() -> Response:
                answer = work(services, **given)
                return answer if isinstance(answer, Response) else JsonAnswer(answer)

            return await services.pool.run(answered, lane)

        # FastAPI would look up the names of types in this module.
        handled.__signature__ = signature(work, eval_str=True)  # type: ignore[attr-defined]
        return handled

    return decorated


class Resource(APIRouter):
    """The router of a resource, which the description lists under a tag.

    Work that blocks runs in the pool: in the lane of the resource, unless it is in another.
    """

    def __init__(self, tag: str, lane: LaneName = "answers") -> None:
        super().__init__(tags=[tag], route_class=JsonRoute)
        self._lane = lane

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        """Add a handler of requests."""
        handled = endpoint if iscoroutinefunction(endpoint) else pooled(self._lane)(endpoint)
        super().add_api_route(path, handled, **given)


def attachment(name: str, media_type: str, write: Callable[[Path], object]) -> Response:
    """A file as the answer, under its name; ``write`` is given the path to write it to.

    Raises an `InputError` if it has more bytes than an answer may have.
    """
    with TemporaryDirectory(prefix="slice-os-") as folder:
        path = Path(folder, name)
        write(path)
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{name} has more than {_MOST_BYTES >> 20} MiB; ask for less")
        content = path.read_bytes()
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


Options = TypeVar("Options", bound=HitOptions)
Model = TypeVar("Model", bound=Body)

Cosine = Annotated[float, Field(ge=-1, le=1)]
Probability = Annotated[float, Field(ge=0, le=1)]
Unit = Literal["span", "clause", "sentence", "turn"]
# A verifier's setting can name a folder, which is not for requests to choose.
VerifierName: Any = Literal[verifier_names()]

# An option is a field of `SearchOptions` or `MineOptions`, and a line here if it has limits.
_LIMITS: dict[str, Any] = {
    "counter_phrases": Annotated[Many[Text], Field(max_length=MOST_PHRASES)],
    "threshold": Cosine | None,
    "verifier": VerifierName | None,
    "min_probability": Probability | None,
    "order": Literal[ORDERS] | None,
    "unit": Unit,
    "where": Filters,
    "top_k": Annotated[int, Field(ge=0, le=MOST_HITS), WHOLE],
    "offset": Annotated[int, Field(ge=0, le=MAX_CANDIDATES), WHOLE],
    "fusion": Literal[FUSION_NAMES],
    "num_candidates": Annotated[int, Field(ge=1, le=MAX_CANDIDATES), WHOLE],
    "per_passage": Annotated[int, Field(ge=1, le=MOST_HITS), WHOLE],
}


class PhraseBody(Body):
    """Phrases to find, beside the options that `with_options` adds.

    Attributes:
        phrases: one phrase, or several that mean the same.
    """

    phrases: PhraseList

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        own = [self.phrases] if isinstance(self.phrases, str) else self.phrases
        length = sum(map(len, (*own, *getattr(self, "counter_phrases", ()))))
        if length > LONGEST_PHRASES:
            raise ValueError(
                f"phrases of {length:,} characters together; give {LONGEST_PHRASES:,} at most"
            )
        return self

    def options(self, kind: type[Options]) -> Options:
        """The options of a kind, from the fields that the request has."""
        known = type(self).model_fields
        names = [field.name for field in fields(kind) if field.name in known]
        return kind(**{name: getattr(self, name) for name in names})


def with_options(kind: type[HitOptions]) -> Callable[[type[Model]], type[Model]]:
    """Give a body the fields of some options, within the limits of the service."""
    types = {**get_type_hints(kind, localns={"Filter": Any}), **_LIMITS}
    texts = _descriptions(kind)
    named: dict[str, Any] = {
        field.name: (types[field.name], Field(field.default, description=texts[field.name]))
        for field in fields(kind)
    }

    def extended(body: type[Model]) -> type[Model]:
        return create_model(
            body.__name__,
            __base__=body,
            __doc__=body.__doc__,
            __module__=body.__module__,
            **named,
        )

    return extended


def _descriptions(kind: type[HitOptions]) -> dict[str, str]:
    """The description of each field, from the docstrings of a kind and its bases."""
    docs = "\n".join(cleandoc(base.__doc__ or "") for base in kind.__mro__)
    found = re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", docs, re.MULTILINE)
    texts = {name: " ".join(text.split()) for name, text in found}
    return {name: text[0].upper() + text[1:] for name, text in texts.items()}

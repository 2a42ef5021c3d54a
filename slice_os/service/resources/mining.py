"""Mining a store: hits one by one, as a stream of JSON lines; and hits as a file to download."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import orjson
from fastapi import Query, Request
from pydantic import Field
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from slice_os.errors import InputError, SliceError
from slice_os.hits.document_hits import DocumentHits
from slice_os.hits.files import holds_texts, write_hits
from slice_os.hits.hit import Hit
from slice_os.query.options import MineOptions
from slice_os.search.listing import LISTINGS, first_of_each
from slice_os.service.asgi.problems import error_body, problem_of
from slice_os.service.asgi.request_frame import PART
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.resources.bodies import (
    WHOLE,
    Body,
    Filters,
    Many,
    PhraseBody,
    Resource,
    StoreBody,
    attachment,
    with_options,
)
from slice_os.service.resources.hits import TopicHighlights, mined, searched
from slice_os.service.services import Shared
from slice_os.service.settings import MOST_AROUND, MOST_EXPORTED

T = TypeVar("T")

router = Resource("search")
logger = logging.getLogger("slice_os.service")

MEDIA_TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "html": "text/html; charset=utf-8",
    "labelstudio.json": "application/json",
    "prodigy.jsonl": "application/x-ndjson",
    "jsonld": "application/ld+json",
    "qdpx": "application/zip",
}
FileFormat: Any = Literal[tuple(MEDIA_TYPES)]
# Of these, each field of the metadata is a column of its own.
_TABLES = ("csv", "xlsx", "parquet")
_MOST_CELLS = 2_000_000

MostHits = Annotated[int, Field(ge=1, lt=2**53), WHOLE] | None
Around = Annotated[int, Field(ge=0, le=MOST_AROUND), WHOLE] | None


class GrepBody(Body):
    """The options of each mining: those that grep has, too, and the common ones.

    Attributes:
        listing: list documents in place of hits: those ``with`` a hit; ``without``, all, each with
            what comes nearest, from the one that most surely has none; or ``counts``, all with
            their number of hits.
        max_count: only the first hits of each document, or the best if there is an order.
        before: turns before a hit, or sentences where nobody takes turns, in its passage.
        after: turns or sentences after it.
        sections: whether hits get the nearest numbered heading before them, as metadata.
        where: conditions on metadata.
        limit: hits after which mining ends; null for all.
    """

    listing: Literal[LISTINGS] | None = None  # type: ignore[valid-type]
    max_count: MostHits = None
    before: Around = None
    after: Around = None
    sections: bool = False
    where: Filters = None
    limit: MostHits = None

    def check(self) -> None:
        """Refuse, by an InputError, what a list of documents has no use for."""
        names = ("before", "after", "order", "collapse", "sections")
        given = [name for name in names if getattr(self, name, None) not in (None, False)]
        if self.listing and given:
            raise InputError(f"a listing is of documents; leave out {given[0]}")


@with_options(MineOptions)
class PhraseMining(GrepBody, StoreBody, PhraseBody):
    """Mining a store for phrases; see `slice_os.MineOptions`.

    An order, or `collapse`, needs all hits before the first one.
    """


class TopicMining(GrepBody, TopicHighlights):
    """Mining a store for topics, each with its own threshold and conditions on metadata."""


class JsonLines(StreamingResponse):
    """An answer of JSON lines, as they come; they are closed if the reader disconnects."""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        super().__init__(lines)
        self._lines = lines

    async def stream_response(self, send: Send) -> None:
        """Send the lines."""
        async with aclosing(self._lines):
            await super().stream_response(send)


@router.post("/mine", response_class=JsonLines, status_code=200)
async def mine(request: Request, services: Shared, body: PhraseMining | TopicMining) -> JsonLines:
    """Every hit in a store, line by line, as soon as it is found.

    A line has a `hit`, or a `document` of a listing; now and then `progress`, with the number of
    them so far; and the last one a `summary`, with the least cosine and probability of hits of
    phrases, or the `error` that ended the stream. Closing the connection ends the work.
    """
    body.check()
    kind = "document" if body.listing else "hit"
    limits: dict[str, Any] = {"exhaustive": True, "threshold": None, "min_probability": None}

    def found() -> Iterator[Hit | DocumentHits]:
        corpus = services.stores.get(body.store)
        if isinstance(body, PhraseMining) and not corpus.store.exhaustive:
            limits["exhaustive"] = body.options(MineOptions).exhaustive
        limited = partial(first_of_each, most=body.max_count)
        rows: Iterator[Hit | DocumentHits]
        if body.listing:
            asked = searched(services, corpus, body, body.where)
            limits.update(asked.cut)
            rows = asked.documents(until_stopped(corpus), body.listing, limited)
        else:
            hits, cut = mined(services, corpus, body, body.where)
            limits.update(cut)
            if (body.before, body.after) != (None, None):
                hits = corpus.around(hits, body.before or 0, body.after or 0)
            rows = limited(corpus.with_sections(hits) if body.sections else hits)
        # One more than the limit tells that there are more.
        return rows if body.limit is None else islice(rows, body.limit + 1)

    done, complete = 0, True

    def lines(batch: list[Hit | DocumentHits]) -> Iterator[dict[str, Any]]:
        nonlocal done, complete
        if body.limit is not None and done + len(batch) > body.limit:
            batch, complete = batch[: body.limit - done], False
        done += len(batch)
        yield from ({kind: one.to_dict()} for one in batch)
        yield {"progress": {"done": done, "of": None}}

    def summary() -> dict[str, Any]:
        return {"summary": {f"{kind}s": done, "complete": complete, **limits}}

    return await json_lines(request, services.pool.stream(found), lines, summary)


async def json_lines(
    request: Request,
    batches: AsyncGenerator[list[T], None],
    lines: Callable[[list[T]], Iterable[dict[str, Any]]],
    summary: Callable[[], dict[str, Any]] | None = None,
) -> JsonLines:
    """The answer that makes lines of each batch, and a last one; or one with the error.

    An error before the first batch is raised, so that the answer has its status.
    """
    first = await anext(batches, None)

    async def told() -> AsyncGenerator[bytes, None]:
        batch = first
        async with aclosing(batches):
            try:
                while batch is not None:
                    for part in _joined(map(_line, lines(batch))):
                        yield part
                    batch = await anext(batches, None)
                if summary is not None:
                    yield _line(summary())
            except (Exception, CancelledError) as error:  # the status has been sent
                if not isinstance(error, (SliceError, CancelledError)):
                    logger.exception("request %s ended in an error", request.state.request_id)
                yield _line(error_body(problem_of(error), request.state.request_id))

    return JsonLines(told())


def _joined(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines, several at a time; long ones one by one."""
    some = bytearray()
    for line in lines:
        some += line
        if len(some) > PART:
            yield bytes(some)
            some.clear()
    yield bytes(some)


def _line(content: dict[str, Any]) -> bytes:
    return orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)


class ExportRequest(StoreBody):
    """Hits to write into a file, each as an answer had it.

    Attributes:
        store: where their documents are, for files that hold these; may be missing if one store
            is served.
        hits: with ``label`` true or false, if somebody answered them.
    """

    hits: Annotated[Many[dict[str, Any]], Field(max_length=MOST_EXPORTED)]


@router.post(
    "/export",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in MEDIA_TYPES.values()}}},
)
def export(
    services: Shared,
    body: ExportRequest,
    wanted: Annotated[FileFormat, Query(alias="format")] = "xlsx",
) -> Response:
    """The hits of a request as a file, as `slice_os.write_hits` writes it."""
    hits = [Hit.from_dict(one) for one in until_stopped(body.hits)]
    names = {name for hit in hits for name in hit.metadata}
    if wanted in _TABLES and len(hits) * len(names) > _MOST_CELLS:
        raise InputError(
            f"a table of {len(hits):,} hits by {len(names):,} fields of metadata is too large; ask "
            "for fewer hits, or for JSON lines"
        )

    def write(path: Path) -> None:
        text_of = services.stores.get(body.store).text if holds_texts(path) else None
        write_hits(until_stopped(hits), path, text_of=text_of)

    return attachment(f"hits.{wanted}", MEDIA_TYPES[wanted], write)

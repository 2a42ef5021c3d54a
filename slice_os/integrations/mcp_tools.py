"""An MCP server: tools with which a language model searches stores and reads documents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

from slice_os.corpus import Corpus
from slice_os.errors import InputError, MissingExtraError, SliceError
from slice_os.hits.bands import Band, anybody_says
from slice_os.hits.hit import Hit
from slice_os.query.options import ORDERS, UNITS, HitOptions, MineOptions, SearchOptions
from slice_os.search.scan import scan as scan_documents
from slice_os.text.documents import Document
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic
from slice_os.topics.work import Work
from slice_os.version import __version__

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp_types import ToolAnnotations
    from pydantic import Field
except ImportError:
    raise MissingExtraError("The MCP server", "mcp") from None

MOST_FOUND = 50
MOST_MINED = 500
MOST_CHARACTERS = 20_000

INSTRUCTIONS = """\
Finds where documents say a phrase in other words. Give a phrase as somebody would say it, such as \
"I want to cancel my subscription", not keywords. Use `search` for the best places, `mine` for all \
of them, `scan` for a text of your own, and `document` to read around a hit. Offsets count Unicode \
code points; the end is exclusive. The probability says how likely a hit \
is right; `mine` leaves unlikely hits out. Quote the text of hits with doc_id and offsets."""

R = TypeVar("R")

StoreName = Annotated[
    str | None, Field(description="Name of a store from `stores`; needed if there are several.")
]
TopicName = Annotated[
    str | None,
    Field(description="Name of a topic of the store, in place of phrases and a threshold."),
]
PhraseList = Annotated[
    list[str],
    Field(description="Wordings of one meaning, such as a sentence a person says.", min_length=1),
]


def _described(kind: Any, text: str, **limits: Any) -> Any:
    return Annotated[kind, Field(description=text, **limits)]


# The options that a language model may choose; it does not need to know how a search works.
_CHOSEN: dict[str, Any] = {
    "top_k": Annotated[int, Field(ge=1, le=MOST_FOUND)],
    "threshold": _described(float | None, "Least cosine of a hit, such as 0.6.", ge=-1, le=1),
    "where": _described(
        dict[str, Any] | None,
        "Metadata that hits must have: a value, a list of values, or operators, as in "
        '{"csat": {"gte": 3}, "domain": ["bank", "airline"]}.',
    ),
    "min_probability": _described(
        float | None, "Least probability of a hit; hits are then read closely.", ge=0, le=1
    ),
    "order": _described(str | None, "Highest first.", json_schema_extra={"enum": [*ORDERS, None]}),
    "unit": _described(str, "Width of hits.", json_schema_extra={"enum": list(UNITS)}),
    "collapse": _described(bool, "Return hits in the same words as one, with their count."),
    "counter_phrases": _described(
        list[str] | None, "Wordings that are not meant: leaves out hits nearer to one of these."
    ),
}


def _tool(tool: Callable[..., R]) -> Callable[..., R]:
    """Make a tool, with errors that a language model can read.

    Where the method takes ``options``, the tool has an argument for each option of their kind.
    """
    own = signature(tool, eval_str=True)
    parameters = dict(own.parameters)
    taken = parameters.pop("options", None)
    kind = taken and taken.annotation
    defaults = {field.name: field.default for field in fields(kind)} if kind else {}
    chosen = {name: annotation for name, annotation in _CHOSEN.items() if name in defaults}
    for name, annotation in chosen.items():
        parameters[name] = Parameter(
            name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation
        )

    @wraps(tool)
    def called(*arguments: Any, **named: Any) -> R:
        given = {name: named.pop(name) for name in chosen if name in named}
        try:
            options = {"options": kind(**given)} if kind else {}
            return tool(*arguments, **named, **options)
        except SliceError as error:
            raise ToolError(str(error)) from None

    called.__signature__ = own.replace(parameters=list(parameters.values()))  # type: ignore[attr-defined]
    return called


# The server takes slots for defaults, so what it returns has none.
@dataclass(frozen=True)
class ListedStore:
    """A store that tools can name, and the topics that `mine` can look for in it."""

    name: str
    documents: int
    passages: int
    topics: list[str]


@dataclass(frozen=True)
class StoreList:
    """All stores."""

    stores: list[ListedStore]


@dataclass(frozen=True)
class FoundHit:
    """Code points ``start:end`` of a document that say a phrase, and the passage around them.

    ``label`` is false if people say that it is wrong, true if right.
    """

    doc_id: str
    start: int
    end: int
    text: str
    passage: str
    phrase: str
    cosine: float
    probability: float | None
    band: Band | None
    reasons: list[str]
    matches: list[list[str]]
    metadata: dict[str, str | int | float | bool]
    count: int
    label: bool | None


@dataclass(frozen=True)
class FoundHits:
    """Hits; `complete` is false if there are more than the limit.

    `said` is false if nobody says the phrase: the hits, if any, are only what comes nearest.
    """

    hits: list[FoundHit]
    complete: bool
    said: bool


@dataclass(frozen=True)
class DocumentText:
    """Code points ``start:end`` of a document; the text goes on at `next`, unless it is null."""

    doc_id: str
    text: str
    start: int
    end: int
    length: int
    next: int | None
    metadata: dict[str, str | int | float | bool]


class Tools:
    """The tools, each a method, for stores by name; a language model reads their docstrings.

    Topics and labels are in the folder of their store, or in ``work``.
    """

    def __init__(self, corpora: Mapping[str, Corpus], work: Path | None = None) -> None:
        self._corpora = corpora
        self._chosen_work = work

    @_tool
    def stores(self) -> StoreList:
        """List the stores that can be searched."""
        return StoreList(
            [
                ListedStore(name, info.documents, info.passages, [topic.name for topic in topics])
                for name, corpus in self._corpora.items()
                for info, topics in [(corpus.info(), self._topics(corpus))]
            ]
        )

    @_tool
    def search(
        self, phrases: PhraseList, store: StoreName = None, *, options: SearchOptions
    ) -> FoundHits:
        """Find the passages that say one of the phrases best, each with its best span."""
        more = replace(options, top_k=options.top_k + 1)
        return _bounded(self._corpus(store).search(phrases, more), options.top_k)

    @_tool
    def mine(
        self,
        phrases: PhraseList | None = None,
        store: StoreName = None,
        limit: Annotated[int, Field(ge=1, le=MOST_MINED)] = 100,
        topic: TopicName = None,
        *,
        options: MineOptions,
    ) -> FoundHits:
        """Find every place that says one of the phrases, or of a topic, by document, to a limit."""
        corpus = self._corpus(store)
        if (topic is None) == (phrases is None):
            raise InputError("give phrases, or the name of a topic")
        if topic is None:
            return _bounded(corpus.iter_mine(phrases or (), options), limit)
        others = options.given().keys() - {"where", "unit"}
        if others:
            raise InputError(f"{', '.join(sorted(others))}: a topic has its own")
        found = [one for one in self._topics(corpus) if one.name == topic]
        if not found:
            raise InputError(f"no topic {topic!r} to mine; `stores` lists them")
        labels, where, unit = self._work(corpus).labels(), options.where, options.unit
        return _bounded(mine_topics(corpus, found, where=where, unit=unit, labels=labels), limit)

    @_tool
    def scan(
        self,
        text: Annotated[str, Field(max_length=200_000)],
        phrases: PhraseList,
        limit: Annotated[int, Field(ge=1, le=MOST_MINED)] = 100,
        *,
        options: HitOptions,
    ) -> FoundHits:
        """Find every place in a text of your own that says one of the phrases."""
        encoder = next(iter(self._corpora.values())).encoder
        hits = scan_documents([Document("text", text)], phrases, options, encoder=encoder)
        return _bounded(hits, limit)

    @_tool
    def document(
        self,
        doc_id: str,
        store: StoreName = None,
        start: Annotated[int, Field(description="First code point to read.", ge=0)] = 0,
        length: Annotated[int, Field(ge=1, le=MOST_CHARACTERS)] = 4_000,
    ) -> DocumentText:
        """Read a document, or a part of it around a hit, page by page."""
        corpus = self._corpus(store)
        text = corpus.text(doc_id)
        end = min(start + length, len(text))
        if start > len(text):
            raise InputError(f"start {start}: document {doc_id!r} has {len(text)} characters")
        return DocumentText(
            doc_id=doc_id,
            text=text[start:end],
            start=start,
            end=end,
            length=len(text),
            next=end if end < len(text) else None,
            metadata=dict(corpus.metadata(doc_id)),
        )

    def _topics(self, corpus: Corpus) -> list[Topic]:
        """The topics with phrases; combined ones cannot be mined."""
        known = self._work(corpus).known_topics()
        return [topic for topic in known if topic.combination is None]

    def _work(self, corpus: Corpus) -> Work:
        return Work.of(corpus.store.folder, self._chosen_work)

    def _corpus(self, name: str | None) -> Corpus:
        if name is None and len(self._corpora) == 1:
            return next(iter(self._corpora.values()))
        if name is None or name not in self._corpora:
            told = "name a store" if name is None else f"no store {name!r}"
            raise InputError(f"{told}; there are {', '.join(self._corpora)}")
        return self._corpora[name]


def mcp_server(tools: Tools) -> MCPServer[Any]:
    """A server with these tools, none of which changes anything."""
    logging.getLogger("mcp.shared.jsonrpc_dispatcher").addFilter(_brief)
    methods = (tools.search, tools.mine, tools.scan, tools.document, tools.stores)
    return MCPServer(
        "slice-os",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
        tools=list(map(_strict, methods)),
    )


def _brief(record: logging.LogRecord) -> bool:
    """Tell what a client asked wrongly without the traceback of the package that says so."""
    if record.exc_info:
        record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]}", ()
        record.exc_info = None
    return True


def _strict(method: Callable[..., Any]) -> Tool:
    """A tool that only reads, and refuses unknown arguments, which the server would ignore."""
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tool = Tool.from_function(method, annotations=reads, structured_output=True)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema()
    return tool


def _bounded(hits: Iterable[Hit], limit: int) -> FoundHits:
    found = list(islice(hits, limit + 1))
    said = anybody_says(hit.band for hit in found)
    return FoundHits([_shown(hit) for hit in found[:limit]], len(found) <= limit, said)


def _shown(hit: Hit) -> FoundHit:
    raw = {**hit.to_dict(), "passage": hit.passage.text}
    return FoundHit(**{field.name: raw[field.name] for field in fields(FoundHit)})

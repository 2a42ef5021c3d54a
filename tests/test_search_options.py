"""Options of a search: one value that every door takes, and every place that names an option."""

from __future__ import annotations

import inspect
import re
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import slice_os
from slice_os import AsyncCorpus, Corpus, Document, InputError, SpanEncoder, scan
from slice_os.cli.find import mine as mine_command
from slice_os.cli.find import scan as scan_command
from slice_os.cli.find import search as search_command
from slice_os.client.async_client import AsyncClient
from slice_os.client.client import Client
from slice_os.query import options
from slice_os.query.options import HitOptions, MineOptions, SearchOptions

PACKAGE = Path(slice_os.__file__).parent
KINDS = (HitOptions, MineOptions, SearchOptions)
KEYWORDS = {
    HitOptions: options.HitKeywords,
    MineOptions: options.MineKeywords,
    SearchOptions: options.SearchKeywords,
}
# The field, the flag, the limit of the service if it has one, and its use.
PLACES = {
    "per_passage": {
        "query/options.py",  # the field and its bounds
        "cli/hit_options.py",  # the flag
        "service/resources/bodies.py",  # the limit
        "search/run.py",  # the use
    },
    "collapse": {
        "query/options.py",
        "cli/hit_options.py",
        "search/run.py",
        "search/refinement.py",
        "async_corpus.py",  # whether all hits must be there before the first one is returned
        "cli/find.py",  # near misses join the hits first
        "integrations/mcp_tools.py",  # what it tells a language model
        "service/resources/mining.py",  # a list of documents has no hits to join
    },
}
DOORS = [
    (Corpus.search, SearchOptions),
    (Corpus.mine, MineOptions),
    (Corpus.iter_mine, MineOptions),
    (AsyncCorpus.search, SearchOptions),
    (AsyncCorpus.mine, MineOptions),
    (scan, HitOptions),
    (Client.search, SearchOptions),
    (Client.mine, MineOptions),
    (Client.iter_mine, MineOptions),
    (Client.scan, HitOptions),
    (Client.highlights, HitOptions),
    (AsyncClient.search, SearchOptions),
    (AsyncClient.mine, MineOptions),
]


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


@pytest.mark.parametrize("option", PLACES)
def test_an_option_stands_in_few_places(option: str) -> None:
    used = re.compile(rf"\b{option}\s*[=:]|\.{option}\b(?!\()|[\"']{option}[\"']")
    places = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("evaluation", "training", "topics")
        and used.search(re.sub(r'"""(?s:.*?)"""', "", path.read_text("utf-8")))
    }
    assert places == PLACES[option]


@pytest.mark.parametrize("kind", KINDS)
def test_keywords_are_the_fields(kind: type[HitOptions]) -> None:
    local = {"Filter": Any}
    keywords = get_type_hints(KEYWORDS[kind], vars(options), local)
    assert keywords == get_type_hints(kind, localns=local)


@pytest.mark.parametrize(("door", "kind"), DOORS, ids=lambda value: value.__qualname__)
def test_doors_take_the_value_and_its_fields(door: Any, kind: type) -> None:
    parameters = inspect.signature(door).parameters
    assert parameters["options"].annotation == kind.__name__
    assert parameters["changes"].annotation == f"Unpack[{KEYWORDS[kind].__name__}]"
    assert parameters.keys().isdisjoint(names(kind))


@pytest.mark.parametrize(
    ("command", "kind"),
    [(search_command, SearchOptions), (mine_command, MineOptions), (scan_command, HitOptions)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_commands_have_a_flag_for_every_field(command: Any, kind: type) -> None:
    assert names(kind) <= {one.name for one in command.params}


def test_requests_have_every_field() -> None:
    pytest.importorskip("fastapi")
    from slice_os.service.resources.hits import PhraseHighlights
    from slice_os.service.resources.mining import PhraseMining
    from slice_os.service.resources.search import ScanRequest, SearchRequest

    kinds = {
        SearchRequest: SearchOptions,
        PhraseMining: MineOptions,
        ScanRequest: HitOptions,
        PhraseHighlights: HitOptions,
    }
    for request, kind in kinds.items():
        assert names(kind) <= request.model_fields.keys()
        given = {"documents": []} if request is ScanRequest else {}
        assert request(phrases="hello", **given).options(kind) == kind()
        assert all(request.model_fields[name].description for name in names(kind))


def test_tools_have_every_field_that_a_language_model_chooses() -> None:
    mcp_tools = pytest.importorskip("slice_os.integrations.mcp_tools")
    works = {"offset", "fusion", "num_candidates", "per_passage"}
    works |= {"verify", "verifier", "exhaustive"}
    kinds = {"search": SearchOptions, "mine": MineOptions, "scan": HitOptions}
    for name, kind in kinds.items():
        arguments = inspect.signature(getattr(mcp_tools.Tools, name)).parameters.keys()
        assert names(kind) - works <= arguments


def test_a_value_and_keywords_find_the_same(tmp_path: Path, encoder: SpanEncoder) -> None:
    document = Document("1", "Please cancel my order. Goodbye. Please cancel my order!")
    wanted = SearchOptions(threshold=0.5, per_passage=5, unit="sentence")
    with Corpus(tmp_path / "s.slice", encoder) as corpus:
        corpus.add([document])
        found = corpus.search("cancel my order", wanted)
        assert found == corpus.search(
            "cancel my order", threshold=0.5, per_passage=5, unit="sentence"
        )
        assert len(found) == 2
        (hit,) = corpus.search("cancel my order", wanted, collapse=True)
        assert hit.count == 2
        mining: options.HitKeywords = {"threshold": 0.5, "unit": "sentence", "collapse": True}
        (hit,) = corpus.iter_mine("cancel my order", **mining)
        assert hit.count == 2
    (hit,) = scan([document], "cancel my order", HitOptions(**mining), encoder=encoder)
    assert hit.count == 2


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (HitOptions, {"threshold": float("nan")}, "threshold nan: give a number"),
        (HitOptions, {"threshold": True}, "threshold True"),
        (HitOptions, {"threshold": 2}, "threshold 2: give a number from -1 to 1"),
        (HitOptions, {"min_probability": 2}, "min_probability 2"),
        (HitOptions, {"order": "date"}, "no order 'date'; there are score, probability"),
        (HitOptions, {"unit": "page"}, "no unit 'page'"),
        (MineOptions, {"where": {"a": {"near": 1}}}, "no operator 'near'"),
        (SearchOptions, {"top_k": 2.5}, "top_k 2.5: give a whole number"),
        (SearchOptions, {"offset": -1}, "must not be negative"),
        (SearchOptions, {"per_passage": 0}, "give 1 or more"),
        (SearchOptions, {"per_passage": 2, "fusion": "rrf"}, "use one of convex, cosine"),
        (SearchOptions, {"fusion": "sum"}, "no fusion 'sum'"),
    ],
)
def test_values_are_checked_once(
    kind: type[HitOptions], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        kind(**given)


def test_options_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        SearchOptions().top_k = 3  # type: ignore[misc]


def test_mining_has_no_top_k(tmp_path: Path, encoder: SpanEncoder) -> None:
    with Corpus(tmp_path / "s.slice", encoder) as corpus, pytest.raises(TypeError, match="top_k"):
        corpus.mine("hello", top_k=3)  # type: ignore[call-arg]

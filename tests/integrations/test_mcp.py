from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from slice_os import Corpus, SpanEncoder
from slice_os.cli import cli
from slice_os.hits.bands import band_of
from slice_os.labels.label import Label
from slice_os.topics.run import mine_topics
from slice_os.topics.topic import Topic
from tests.soak.stdio import RAW, Mcp, called, odd_calls

from .conftest import PHRASE

# A second that only the worker that runs these tests should spend.
if TYPE_CHECKING:
    from mcp.client import Client

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def connected(*stores: str) -> AsyncIterator[Client]:
    """A client of the command, over its standard input and output."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    arguments = ["-m", "slice_os.cli", "mcp"]
    for store in stores:
        arguments += ["--name" if "=" in store else "--store", store]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    # Its default is what standard error was when the library was loaded: in a test, a closed file.
    assert sys.__stderr__ is not None
    async with Client(stdio_client(server, sys.__stderr__)) as client:
        yield client


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    (content,) = result.content
    return str(content.text)


@pytest.mark.slow
async def test_a_model_searches_over_standard_streams(
    contracts: Path, encoder: SpanEncoder
) -> None:
    with Corpus(contracts, encoder) as corpus:
        hits = corpus.search(PHRASE, top_k=2, threshold=0.3)
        async with connected(str(contracts)) as client:
            (store,) = (await answer(client, "stores"))["stores"]
            assert store["name"] == Path(contracts).name
            assert store["documents"] == len(corpus)
            found = await answer(client, "search", phrases=[PHRASE], top_k=2, threshold=0.3)
            assert not found["complete"]
            for shown, hit in zip(found["hits"], hits, strict=True):
                text = corpus.text(shown["doc_id"])
                assert text[shown["start"] : shown["end"]] == shown["text"] == hit.text
                assert shown["passage"] == hit.passage.text
                assert shown["cosine"] == pytest.approx(hit.cosine, abs=1e-6)
            mined = await answer(client, "mine", phrases=[PHRASE], threshold=0.45)
            assert mined["complete"]
            assert len(mined["hits"]) == len(corpus.mine(PHRASE, threshold=0.45)) > 1
            assert "no document 'none'" in await refusal(client, "document", doc_id="none")


def test_odd_lines_are_answered_or_refused_in_one_line(contracts: Path, tmp_path: Path) -> None:
    server = Mcp(contracts, tmp_path)
    for line in RAW:
        server.send(line)
        assert server.ask("ping", {})["result"] == {}
    for name, arguments in islice(odd_calls(), 0, None, 60):
        assert called(server, name, arguments)[1] == ""
    errors = server.end()
    assert "Traceback" not in errors
    assert "Unknown prompt:" in errors


@pytest.fixture
async def client(contracts: Path, encoder: SpanEncoder) -> AsyncIterator[Client]:
    """A client in this process, of a server with one store under two names."""
    from mcp.client import Client

    from slice_os.integrations.mcp_tools import Tools, mcp_server

    with Corpus(contracts, encoder) as corpus:
        async with Client(mcp_server(Tools({"one": corpus, "other": corpus}))) as client:
            yield client


async def test_tools_only_read(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == {"search", "mine", "scan", "document", "stores"}
    for tool in tools:
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.output_schema is not None
        for name, schema in tool.input_schema["properties"].items():
            assert "type" in schema or "anyOf" in schema, name


async def test_what_is_mined_is_bounded(client: Client) -> None:
    found = await answer(client, "mine", phrases=[PHRASE], store="one", threshold=0.1, limit=3)
    assert (len(found["hits"]), found["complete"]) == (3, False)


async def test_a_text_is_scanned(client: Client) -> None:
    text = "Hello 👋. Please end my plan today. Bye."
    found = await answer(client, "scan", text=text, phrases=["cancel my plan"], min_probability=0.1)
    (hit,) = found["hits"]
    assert text[hit["start"] : hit["end"]] == hit["text"]
    assert hit["probability"] > 0.1
    assert (hit["band"], hit["matches"]) == (band_of(hit["probability"]), [["cancel", "end"]])
    wanted = {"text": text, "phrases": ["cancel my plan"], "threshold": 0.3}
    left = await answer(client, "scan", **wanted, counter_phrases=["please end my plan today"])
    assert hit["text"] not in [one["text"] for one in left["hits"]]
    (both,) = (await answer(client, "scan", **{**wanted, "text": text * 2}, collapse=True))["hits"]
    assert (both["text"], both["count"]) == (hit["text"], 2)


async def test_what_people_rejected_is_told(
    contracts: Path, encoder: SpanEncoder, tmp_path: Path
) -> None:
    from mcp.client import Client

    from slice_os.integrations.mcp_tools import Tools, mcp_server

    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "end.toml").write_text(f"phrases = ['{PHRASE}']\n", "utf-8")
    with Corpus(contracts, encoder) as corpus:
        async with Client(mcp_server(Tools({"one": corpus}, tmp_path))) as client:
            all_of = (await answer(client, "mine", topic="end"))["hits"]
            wrong, *_ = mine_topics(corpus, [Topic("end", (PHRASE,))])
            (tmp_path / "labels.jsonl").write_bytes(Label.of(wrong, right=False).to_json())
            all_of[0]["label"] = False
            assert (await answer(client, "mine", topic="end"))["hits"] == all_of


async def test_a_document_is_read_page_by_page(client: Client, contracts: Path) -> None:
    with Corpus(contracts) as corpus:
        doc_id = next(iter(corpus))
        text = corpus.text(doc_id)
    pages: list[str] = []
    start: int | None = 0
    while start is not None:
        page = await answer(
            client, "document", doc_id=doc_id, store="other", start=start, length=3_000
        )
        assert (page["start"], page["length"]) == (start, len(text))
        pages.append(page["text"])
        start = page["next"]
    assert len(pages) > 1
    assert "".join(pages) == text


async def test_errors_say_what_to_do(client: Client) -> None:
    assert (await refusal(client, "search", phrases=["x"])).endswith(
        ": name a store; there are one, other"
    )
    assert "no store 'two'; there are one" in await refusal(
        client, "mine", phrases=["x"], store="two"
    )
    assert "has no word to search for" in await refusal(
        client, "search", phrases=["..."], store="one"
    )
    assert "no metadata field 'csat'" in await refusal(
        client, "search", phrases=["x"], store="one", where={"csat": 3}
    )
    told = await refusal(client, "document", doc_id="none", store="one", start=5)
    assert "\n" not in told
    assert "top_k" in await refusal(client, "search", phrases=["x"], store="one", top_k=9_999)
    unknown = await refusal(client, "mine", phrases=["x"], store="one", treshold=0.7)
    assert "treshold" in unknown
    assert "Extra inputs are not permitted" in unknown


def test_the_command_wants_stores_that_are_there(tmp_path: Path) -> None:
    assert "give a --store" in CliRunner().invoke(cli, ["mcp"], env={"SLICE_OS_STORE": ""}).output
    for other in ("b/x", "c/x/.", "x/y/.."):
        twice = CliRunner().invoke(cli, ["mcp", "--store", "a/x", "--store", other])
        assert "two stores are called 'x'; use --name to tell them apart" in twice.output
    command = [sys.executable, "-m", "slice_os.cli", "mcp", "--store", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "none: no store here" in done.stderr
    assert "Traceback" not in done.stderr

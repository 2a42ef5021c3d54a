"""Topics find in an index what they find in a local store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from slice_os import Corpus, Document, Hit, SpanEncoder
from slice_os.combinations import match_topics
from slice_os.query.options import MineOptions
from slice_os.search.listing import search_phrases
from slice_os.topics import mine_topics, read_topics

from .support import call_cli, dialogues

EXAMPLES = Path(__file__).parents[2] / "examples" / "topics"


def calls() -> list[Document]:
    """Dialogues about what the topics are about."""
    texts = {
        row["id"]: "\n".join(turn["text"] for turn in row["text"]) for row in dialogues(10_000)
    }
    told = [(name, text) for name, text in texts.items() if re.search("cancel|stolen|screen", text)]
    return [Document(name, text) for name, text in told[:20]]


def shown(hits: list[Hit]) -> list[tuple[Any, ...]]:
    return [
        (hit.topic, hit.doc_id, hit.start, hit.end, round(hit.cosine, 4), hit.reasons)
        for hit in hits
    ]


@pytest.mark.slow
@pytest.mark.parametrize("exclusive", [False, pytest.param(True, marks=pytest.mark.release)])
def test_mining_for_topics(
    address: str, encoder: SpanEncoder, tmp_path: Path, exclusive: bool
) -> None:
    topics = read_topics([EXAMPLES])
    found, matched = [], []
    for store in (address, tmp_path / "local"):
        with Corpus(store, encoder) as corpus:
            corpus.add(calls())
            hits = mine_topics(corpus, topics, exclusive=exclusive)
            # Each store has an order of documents of its own.
            found.append(sorted(hits, key=lambda hit: (hit.doc_id, hit.start, hit.topic)))
            matches = match_topics(corpus, topics, exclusive=exclusive)
            matched.append({(one.topic, one.place, one.doc_ids, one.text) for one in matches})
    there, here = found
    assert shown(there) == shown(here)
    assert {hit.topic for hit in here} >= {"cancel"}
    assert matched[0] == matched[1] != set()
    likely = [hit.probability for hit in here]
    assert [hit.probability for hit in there] == pytest.approx(likely, abs=1e-3)


def test_documents_without_hits_and_in_other_languages(
    address: str, encoder: SpanEncoder, tmp_path: Path
) -> None:
    letter = Document("brief", "Am 3. Mai kam sie. Ich will den Vertrag kündigen.", language="de")
    found = []
    for store in (address, tmp_path / "local"):
        with Corpus(store, encoder) as corpus:
            corpus.add([*calls()[:12], letter])
            search = search_phrases(
                corpus.store, corpus.encoder, ["Vertrag kündigen", "my screen broke"], MineOptions()
            )
            hits = list(search.hits())
            listed = sorted(search.documents(corpus, "without"), key=lambda one: one.doc_id)
            assert {one.doc_id for one in listed if one.hits} == {hit.doc_id for hit in hits}
            near = [one.nearest for one in listed]
            assert [hit.probability for hit in hits if hit.doc_id == "brief"] == [None]
            found.append(
                (shown(sorted(hits, key=lambda hit: hit.doc_id)), near, corpus.units("brief"))
            )
    (hits_there, near_there, units_there), (hits_here, near_here, units_here) = found
    assert hits_there == hits_here
    assert units_there == units_here == [(0, 18), (19, 49)]
    assert None not in near_here
    assert shown([hit for hit in near_there if hit]) == shown([hit for hit in near_here if hit])


@pytest.mark.slow
@pytest.mark.release
def test_the_command_line_knows_what_is_new(
    address: str, encoder: SpanEncoder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, state = address, tmp_path / "work"
    with Corpus(store, encoder) as corpus:
        corpus.add(calls())
        hits = list(mine_topics(corpus, read_topics([EXAMPLES])))
    asked = ("mine", "--topics", str(EXAMPLES), "--store", store, "--work", str(state), "--new")
    first, second = (call_cli(capsys, *asked, "--json") for _ in range(2))
    assert (first[0], len(first[1].splitlines())) == (0, len(hits))
    assert second[:2] == (0, "")

"""Documents are added, listed, shown and deleted; fields have values; texts have vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from starlette.testclient import TestClient

from slice_os import Corpus, Document, SpanEncoder
from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings
from slice_os.topics.frequent import frequent_sentences

from .conftest import DOCUMENTS, asking


@pytest.fixture
def writable(settings: ServiceSettings, own_store: str) -> Iterator[TestClient]:
    """A service over a copy of the small store."""
    app = create_app(replace(settings, stores={"copy": own_store}))
    with asking(app) as client:
        yield client


def test_documents_are_listed_page_by_page(client: TestClient) -> None:
    seen: list[str] = []
    after = ""
    while after is not None:
        page = client.get("/documents", params={"after": after, "limit": 3}).json()
        seen += [entry["id"] for entry in page["documents"]]
        after = page["next"]
    assert seen == sorted(document.id for document in DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.id)
def test_a_document_is_as_it_was_given(client: TestClient, document: Document) -> None:
    answer = client.get(f"/documents/{document.id}").json()
    assert (answer["id"], answer["text"]) == (document.id, document.text)
    assert answer["metadata"] == document.metadata


def test_a_document_is_added_replaced_and_deleted(writable: TestClient) -> None:
    new = {
        "id": "new/😀",
        "text": "I lost my card.\nOh dear.",
        "metadata": {"domain": "finance", "csat": 5},
        "segments": [{"start": 0, "end": 15, "speaker": "ann"}, {"start": 16, "end": 24}],
    }
    assert writable.post("/documents", json={"documents": [new]}).json() == {"added": 1}
    shown = writable.get("/documents/new/😀").json()
    assert (shown["text"], shown["metadata"]) == (new["text"], new["metadata"])
    body = {"phrases": "my card is lost", "top_k": 1}
    (hit,) = writable.post("/search", json=body).json()["hits"]
    assert hit["doc_id"] == "new/😀"
    assert hit["metadata"]["speaker"] == "ann"
    writable.post("/documents", json={"documents": [{"id": "new/😀", "text": "Hello."}]})
    assert writable.get("/documents/new/😀").json()["text"] == "Hello."
    assert writable.delete("/documents/new/😀").status_code == 204
    assert writable.delete("/documents/new/😀").status_code == 404
    assert writable.get("/documents/new/😀").status_code == 404


def test_a_store_that_takes_its_place_is_served(
    writable: TestClient, own_store: str, encoder: SpanEncoder, tmp_path: Path
) -> None:
    location = Path(own_store)
    assert writable.get("/documents/chat-1").status_code == 200
    with Corpus(tmp_path / "other", encoder) as corpus:
        corpus.add([Document("other", "I lost my card.")])
    location.rename(tmp_path / "former")
    (tmp_path / "other").rename(location)
    new = {"id": "new", "text": "My card is lost."}
    assert writable.post("/documents", json={"documents": [new]}).json() == {"added": 1}
    assert writable.get("/documents/new").json()["text"] == new["text"]
    listed = writable.get("/documents").json()["documents"]
    assert [one["id"] for one in listed] == ["new", "other"]
    hits = writable.post("/search", json={"phrases": "my card is lost"}).json()["hits"]
    assert {hit["doc_id"] for hit in hits} == {"new", "other"}


@pytest.mark.parametrize("doc_id", ["a\n", "\n", "a\nb", "a\r\n", "a/\n/b", "a\u2028", " "])
def test_ids_may_have_line_ends(writable: TestClient, doc_id: str) -> None:
    near = doc_id.splitlines()[0].strip("/ ") or "b"
    for name, text in ((near, "The one beside it."), (doc_id, "I want to cancel my plan.")):
        stored = {"documents": [{"id": name, "text": text}]}
        assert writable.post("/documents", json=stored).status_code == 200
    path = f"/documents/{quote(doc_id, safe='')}"
    assert writable.get(path).json()["text"] == "I want to cancel my plan."
    marked = writable.post(f"{path}/highlights", json={"phrases": "cancel my plan"}).json()
    assert (marked["id"], len(marked["hits"])) == (doc_id, 1)
    assert writable.delete(path).status_code == 204
    assert writable.get(path).status_code == 404
    assert writable.get(f"/documents/{quote(near)}").status_code == 200
    writable.delete(f"/documents/{quote(near)}")


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"text": "a"}, 422),
        ({"id": "", "text": "a"}, 422),
        ({"id": "a", "text": "a", "metadata": {"b": [1]}}, 422),
        ({"id": "a", "text": "a", "segments": [{"start": 0, "end": 9}]}, 400),
        ({"id": "a", "text": "a", "language": "English"}, 400),
    ],
)
def test_what_is_no_document_is_refused(
    writable: TestClient, document: dict[str, object], status: int
) -> None:
    answer = writable.post("/documents", json={"documents": [document]})
    assert answer.status_code == status
    assert writable.get("/stores").json()["stores"][0]["documents"] == len(DOCUMENTS)


def test_fields_have_values(client: TestClient) -> None:
    (store,) = client.get("/stores").json()["stores"]
    assert store["fields"]["csat"] == "number"
    assert (store["unit"], store["least_cosine"]) == ("dialogue", 0.45)
    assert store["fields"]["domain"] == "text"
    values = client.get("/stores/calls/fields/domain").json()["values"]
    assert values[0] == {"value": "media", "documents": 2}
    assert client.get("/stores/calls/fields/colour").status_code == 400
    assert client.get("/stores/none/fields/domain").status_code == 404


def test_a_store_is_told_at_a_glance(client: TestClient) -> None:
    found = client.get("/stores/calls/overview", params={"date_field": "day"}).json()
    assert found["documents"] == 4
    assert (found["first"], found["last"]) == ("2026-06-01", "2026-06-02")
    assert found["weeks"] == [{"week": "2026-06-01", "documents": 3}]
    assert found["kinds"] == {"domain": 3}
    undated = client.get("/stores/calls/overview").json()
    assert (undated["first"], undated["weeks"]) == (None, [])


def test_a_store_of_very_many_fields_is_told_by_some(writable: TestClient) -> None:
    fields = [{f"{number} {other}": "a" for other in range(300)} for number in range(5)]
    documents = [{"id": str(n), "text": "Hello.", "metadata": one} for n, one in enumerate(fields)]
    assert writable.post("/documents", json={"documents": documents}).json() == {"added": 5}
    assert len(writable.get("/stores/copy/fields").json()["fields"]) == 1_000
    assert len(writable.get("/stores").json()["stores"][0]["fields"]) == 1_000
    assert writable.get("/stores/copy/fields/4 299").json()["values"]
    assert writable.get("/stores/copy/overview").status_code == 200


def test_frequent_sentences_say_something() -> None:
    texts = [
        f"Thank you very much.\nMy card was stolen{end}\nWhere is the branch {number}?"
        for number, end in enumerate(["!", ".", " "])
    ]
    assert frequent_sentences(texts) == ["My card was stolen!"]
    spoken = [f"{before}My card was stolen." for before in ("[00:07] Speaker 1: ", "Ann: ", "> ")]
    assert frequent_sentences(spoken) == ["My card was stolen."]


def test_highlights_have_the_turns_of_a_conversation(client: TestClient) -> None:
    body = {"phrases": ["my card was stolen"]}
    answer = client.post("/documents/chat-1/highlights", json=body).json()
    text, turns = answer["text"], answer["turns"]
    told = [(turn["speaker"], text[turn["start"] : turn["end"]]) for turn in turns]
    assert told[0] == ("customer", "My card was stolen.")
    assert [speaker for speaker, _ in told] == ["customer", "agent", "customer"]
    contract = client.post("/documents/contract.txt/highlights", json=body).json()
    assert contract["turns"] == []


def test_texts_have_vectors(client: TestClient, encoder: SpanEncoder) -> None:
    text = "😀 Please end my plan, today."
    body = {
        "phrases": ["end my plan"],
        "texts": [{"text": text, "spans": [[9, 20]], "tokens": True}],
    }
    answer = client.post("/encode", json=body).json()
    assert answer["dimensions"] == len(answer["phrases"][0]) == encoder.card.dimension
    assert answer["encoder"] == encoder.card.encoder_id
    assert np.allclose(answer["phrases"], encoder.encode_phrases(["end my plan"]), atol=1e-4)
    (encoded,) = answer["texts"]
    assert np.allclose(encoded["spans"], encoder.encode_spans(text, [(9, 20)]), atol=1e-4)
    within = [one["vector"] for one in encoded["tokens"] if one["start"] >= 9 and one["end"] <= 20]
    mean = np.mean(within, axis=0)
    assert np.allclose(mean / np.linalg.norm(mean), encoded["spans"][0], atol=1e-4)
    assert (
        client.post("/encode", json={"texts": [{"text": "a", "spans": [[0, 9]]}]}).status_code
        == 400
    )

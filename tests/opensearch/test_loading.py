"""What goes into an index comes out again, and equals what a local store returns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slice_os import Corpus, Document, Hit, Hits, InputError, SpanEncoder, StoreError
from slice_os.ingest import passages as cutting
from slice_os.ingest.passages import encode_documents
from slice_os.stores.cluster.loading import bulk
from slice_os.stores.cluster.loading import writer as writing
from slice_os.text.documents import field_text

from .support import DEMO, Index, dialogues, documents, write_lines
from .texts import own_address

pytestmark = pytest.mark.version

CONTRACTS = sorted((DEMO / "contracts").glob("*.txt"))[:1]
PHRASES = (
    "either party may end this agreement at any time",
    "what is the status of my order",
    "keep the information secret",
)
HARD_TEXTS = {
    "crlf": "First line.\r\n\r\nSecond line\r\nof the agreement.\r\n",
    "nul": "Please cancel\0 my order.\0",
    "emoji": "👩‍👩‍👧‍👦 cancel 🇩🇪 my order 👍🏽 now.",
    "right-to-left": "שלום please cancel מרחבא.",
    "no words": " \n\t ",
    "empty": "",
    "white space around": "\n\n  Cancel my order.  \n\n",
    "line separators": "One\u2028two\x85three\x1cfour.",
}


@pytest.fixture(scope="module")
def locations(
    opensearch_url: str, tmp_path_factory: pytest.TempPathFactory, encoder: SpanEncoder
) -> Iterator[tuple[str, str]]:
    """The demo documents in a local store, and in OpenSearch."""
    folder = tmp_path_factory.mktemp("demo")
    lines = [
        {**record, "year": 2018 + number % 3, "open": number % 2 == 0, "rate": number % 4 / 4}
        for number, record in enumerate(dialogues(24))
    ]
    path = write_lines(folder / "dialogues.jsonl", lines)
    with own_address(opensearch_url) as remote:
        for location in (local := str(folder / "store"), remote):
            with Corpus(location, encoder) as corpus:
                summary = corpus.ingest([path, *CONTRACTS], dead_letters=folder / "letters.jsonl")
                assert (summary.documents, summary.bad_records) == (25, 0)
        yield local, remote


@pytest.fixture
def stores(locations: tuple[str, str], encoder: SpanEncoder) -> Iterator[tuple[Corpus, Corpus]]:
    with Corpus(locations[0], encoder) as local, Corpus(locations[1], encoder) as remote:
        yield local, remote


def spans(hits: Hits) -> list[tuple[str, str, int, int, str]]:
    return [(hit.phrase, hit.doc_id, hit.start, hit.end, hit.text) for hit in hits]


def test_counts_are_those_of_a_local_store(stores: tuple[Corpus, Corpus]) -> None:
    ours, theirs = (store.info() for store in stores)
    for name in ("documents", "passages", "words", "pieces", "max_pieces", "encoder"):
        assert getattr(theirs, name) == getattr(ours, name)


def test_texts_and_offsets_hold(stores: tuple[Corpus, Corpus]) -> None:
    local, remote = stores
    hits = remote.mine(PHRASES, threshold=0.5)
    assert len(hits) > 20
    texts = {doc_id: remote.text(doc_id) for doc_id in {hit.doc_id for hit in hits}}
    for hit in hits:
        text = texts[hit.doc_id]
        assert text == local.text(hit.doc_id)
        assert text[hit.start : hit.end] == hit.text
        assert text[hit.passage.start : hit.passage.end] == hit.passage.text


def test_metadata_of_documents_are_those_of_a_local_store(stores: tuple[Corpus, Corpus]) -> None:
    local, remote = stores
    for entry in local.documents():
        given, found = local.metadata(entry.id), remote.metadata(entry.id)
        assert given.items() <= found.items()
        assert found.keys() - given.keys() <= {"speaker"}
    with pytest.raises(InputError, match="no document 'nothing'"):
        remote.metadata("nothing")


@pytest.mark.parametrize("threshold", [0.45, 0.6])
def test_mining_finds_what_a_local_store_finds(
    stores: tuple[Corpus, Corpus], threshold: float
) -> None:
    def by_place(hit: Hit) -> tuple[str, int, str]:
        return hit.doc_id, hit.start, hit.phrase

    ours, theirs = (
        sorted(store.mine(PHRASES, threshold=threshold), key=by_place) for store in stores
    )
    assert len(ours) > 1
    assert spans(theirs) == spans(ours)
    assert [hit.cosine for hit in theirs] == pytest.approx([hit.cosine for hit in ours], abs=1e-6)
    assert [hit.metadata for hit in theirs] == [hit.metadata for hit in ours]


@pytest.mark.parametrize("fusion", ["cosine", "convex"])
@pytest.mark.parametrize(
    "phrases", [PHRASES[0], PHRASES[1], PHRASES, "isn't O'Neill's order 3,000?"]
)
def test_the_best_hits_are_those_of_a_local_store(
    stores: tuple[Corpus, Corpus], phrases: str | tuple[str, ...], fusion: str
) -> None:
    ours, theirs = (store.search(phrases, top_k=20, fusion=fusion) for store in stores)
    for name in ("cosine", "bm25", "score"):
        expected = [getattr(hit, name) for hit in ours]
        assert [getattr(hit, name) for hit in theirs] == pytest.approx(expected, abs=1e-4)
    assert spans(theirs) == spans(ours)


@pytest.mark.parametrize(
    "where",
    [
        {"year": 2019},
        {"year": ["2018", "2020"], "open": True},
        {"open": "false"},
        {"rate": 0.25},
        {"rate": [0.5, 0.75]},
        {"domain": "airline", "speaker": "customer"},
        {"domain": "no such"},
    ],
)
def test_filters_are_those_of_a_local_store(
    stores: tuple[Corpus, Corpus], where: dict[str, object]
) -> None:
    ours, theirs = (
        store.mine("my order", threshold=0.4, where=where)  # type: ignore[arg-type]
        for store in stores
    )
    assert sorted(spans(theirs)) == sorted(spans(ours))
    found = stores[1].search("my order", where=where, fusion="cosine")  # type: ignore[arg-type]
    for hit in found:
        for field, values in where.items():
            admitted = values if isinstance(values, list) else [values]
            assert field_text(hit.metadata[field]) in map(field_text, admitted)


def test_pages_do_not_repeat_and_agree_with_the_whole(stores: tuple[Corpus, Corpus]) -> None:
    _, remote = stores
    whole = remote.search("my order", top_k=40)
    pages = [remote.search("my order", top_k=7, offset=start) for start in range(0, 40, 7)]
    assert spans(whole)[:40] == [hit for page in pages for hit in spans(page)][:40]
    assert len(set(spans(whole))) == len(whole)


def test_equal_scores_come_in_stored_order(corpus: Corpus) -> None:
    same = [Document(f"doc-{number}", "Please cancel my order today.") for number in range(9)]
    corpus.add(reversed(same))
    for _ in range(3):
        hits = corpus.search("cancel my order", top_k=9, fusion="cosine")
        assert [hit.doc_id for hit in hits] == sorted(document.id for document in same)


def test_hard_texts_come_back_exactly(corpus: Corpus) -> None:
    corpus.add(Document(name, text) for name, text in HARD_TEXTS.items())
    assert corpus.info().documents == len(HARD_TEXTS)
    for name, text in HARD_TEXTS.items():
        assert corpus.text(name) == text
    for hit in corpus.mine("cancel my order", threshold=0.3):
        assert HARD_TEXTS[hit.doc_id][hit.start : hit.end] == hit.text


def test_a_long_document_in_several_parts(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "PART_PIECES", 500)
    text = CONTRACTS[0].read_text(encoding="utf-8")
    document = Document("long", text)
    assert len(list(encode_documents([document], corpus.encoder))) > 3
    corpus.add([Document("before", "Short."), document, Document("after", "Short, too.")])
    assert corpus.text("long") == text
    assert corpus.info().documents == 3


def test_a_second_run_does_nothing_and_changes_are_stored(
    corpus: Corpus, index: Index, address: str, tmp_path: Path
) -> None:
    records = dialogues(12)
    path = write_lines(tmp_path / "dialogues.jsonl", records)
    note = tmp_path / "note.txt"
    note.write_text("Please cancel my order. " * 200)
    paths, letters = [path, note], tmp_path / "letters.jsonl"
    first = corpus.ingest(paths, dead_letters=letters)
    before = index.contents()
    again = corpus.ingest(paths, dead_letters=letters)
    assert (again.documents, again.sources_unchanged, again.pieces) == (0, 2, 0)
    assert index.contents() == before

    # Longer, shorter, gone, new; and the one on its own much shorter.
    records[0]["text"] += records[1]["text"] * 3
    records[2]["text"] = records[2]["text"][:1]
    write_lines(path, [*records[:5], *records[7:], *dialogues(1, first=12)])
    note.write_text("Nothing any more.")
    changed = corpus.ingest(paths, dead_letters=letters)
    assert (first.documents, changed.documents, changed.documents_unchanged) == (13, 4, 8)
    assert changed.documents_deleted == 2
    assert not index.faults()
    with Corpus(f"{address}-anew", corpus.encoder) as anew:
        anew.ingest(paths, dead_letters=letters)
    assert Index(index.client, f"{index.alias}-anew").contents() == index.contents()


def test_a_replaced_document_leaves_nothing_behind(corpus: Corpus, index: Index) -> None:
    versions = [
        Document("one", "Please cancel my order. " * times, {"version": times})
        for times in (150, 3, 80, 1)
    ]
    for version in versions:
        corpus.add([version])
        assert corpus.text("one") == version.text
    # All of them in one load: the last one holds.
    corpus.add(versions[::-1])
    assert corpus.text("one") == versions[0].text
    corpus.add(versions)
    assert corpus.text("one") == versions[-1].text
    assert not index.faults()
    assert corpus.info().passages == 1
    assert corpus.delete(["one", "never there"]) == 1
    assert not index.contents()["records"]


def test_deleting_and_writing_the_same_id_in_one_load(corpus: Corpus) -> None:
    corpus.add(documents(3))
    store = corpus.store
    with store.writer() as writer:
        for part in encode_documents(documents(2), corpus.encoder):
            writer.write(part)
        assert writer.delete(["doc-001", "doc-002"]) == 2
        for part in encode_documents([Document("doc-002", "Here again.")], corpus.encoder):
            writer.write(part)
    found = store.find_documents(["doc-000", "doc-001", "doc-002"])
    assert set(found) == {"doc-000", "doc-002"}
    assert corpus.text("doc-002") == "Here again."
    assert corpus.info().passages == 2


def test_an_id_in_two_sources_goes_to_the_dead_letters(corpus: Corpus, tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a.jsonl", [{"id": "x", "text": "Cancel my order."}])
    second = write_lines(
        tmp_path / "b.jsonl", [{"id": "x", "text": "Mine, too."}, {"id": "y", "text": "Other."}]
    )
    letters = tmp_path / "letters.jsonl"
    summary = corpus.ingest([first, second], dead_letters=letters)
    assert (summary.documents, summary.bad_records) == (2, 1)
    assert "came before" in letters.read_text()
    assert corpus.text("x") == "Cancel my order."
    # The source with the bad record is read again, the other is not.
    again = corpus.ingest([first, second], dead_letters=letters)
    assert (again.sources, again.sources_unchanged, again.documents) == (1, 1, 0)


def test_a_source_is_finished_only_once_all_of_it_is_stored(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "LOOKUP_DOCUMENTS", 2)
    monkeypatch.setattr(bulk, "CHUNK_ACTIONS", 3)
    given = [Document(each.id, each.text, source="file") for each in documents(12)]
    corpus.add(documents(1))
    store = corpus.store
    with store.writer() as writer:
        for part in encode_documents(given[:-1], corpus.encoder):
            writer.write(part)
            assert not store.source_signatures(["file"])
        writer.finish_source("file", "signature")
        for part in encode_documents(given[-1:], corpus.encoder):
            writer.write(part)
            if store.source_signatures(["file"]):
                assert len(store.find_documents(each.id for each in given[:-1])) == 11
        writer.flush()
        assert store.source_signatures(["file"]) == {"file": "signature"}
    assert store.document_ids("file") == {each.id for each in given}


def test_an_id_too_long_for_the_index_is_refused(corpus: Corpus) -> None:
    with pytest.raises(StoreError, match=r"1 of 2 documents rejected.*8191 are possible"):
        corpus.add([Document("x" * 8192, "Cancel my order."), *documents(1)])
    longest = Document("x" * 8191, "Cancel my order.")
    corpus.add([longest])
    assert corpus.text(longest.id) == longest.text
    assert corpus.info().documents == 2


def test_settings_and_note_are_as_before_a_load(corpus: Corpus, index: Index) -> None:
    corpus.add(documents(1))
    assert index.settings == (None, "1")
    index.change(refresh_interval="7s", number_of_replicas=2)
    with corpus.store.writer():
        # No refresh; the copies of what is there already stay.
        assert index.settings == ("-1", "2")
        assert index.meta["restore"] == {"refresh_interval": "7s", "number_of_replicas": "2"}
    assert index.settings == ("7s", "2")
    assert "restore" not in index.meta
    assert corpus.delete(["doc-000"]) == 1
    with corpus.store.writer():
        assert index.settings == ("-1", "0")
    assert index.settings == ("7s", "2")

"""Sources in an index are called, kept, moved and pruned as in a local store."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from slice_os import Corpus, Document
from slice_os.stores.cluster.search import listing

KNOWN = "ReadOptions(id_field='id', text_field='text', metadata_fields=None)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls/sub").mkdir(parents=True)
    Path("calls/a.txt").write_text("Please cancel my order.")
    Path("calls/sub/b.txt").write_text("Please change my seat.")
    Path("calls/c.jsonl").write_text('{"id": "r1", "text": "One."}\n{"text": "Two."}\n')
    return tmp_path


def stored(corpus: Corpus) -> dict[str, str]:
    return {doc_id: corpus.text(doc_id) for doc_id in corpus}


def sources(corpus: Corpus) -> dict[str, int]:
    return {entry.name: entry.documents for entry in corpus.sources()}


def test_are_known_by_their_real_paths(
    corpus: Corpus, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert corpus.ingest(["calls"]).documents == 4
    monkeypatch.chdir("calls")
    for path in (".", folder / "calls"):
        assert corpus.ingest([path]).sources_unchanged == 3
    assert set(stored(corpus)) == {"a.txt", "sub/b.txt", "r1", "c.jsonl#2"}
    paths = {"calls/a.txt": 1, "calls/sub/b.txt": 1, "calls/c.jsonl": 2}
    assert sources(corpus) == {str(folder / path): count for path, count in paths.items()}


def test_are_listed_page_by_page(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    corpus.add([Document("x", "By a program.")])
    corpus.ingest(["calls"], source="crm")
    assert sources(corpus) == {"": 1, "crm/a.txt": 1, "crm/c.jsonl": 2, "crm/sub/b.txt": 1}
    assert list(corpus) == ["a.txt", "c.jsonl#2", "r1", "sub/b.txt", "x"]
    assert len(corpus) == 5
    assert "r1" in corpus
    assert "r2" not in corpus


def test_pipes_add_and_named_ones_replace(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def pipe(text: str, source: str | None = None) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        corpus.ingest(["-"], source=source)

    for text in ("One.", "Two.", "One."):
        pipe(text)
        pipe(f"{text[:-1]} of the CRM.", "crm")
    assert sorted(stored(corpus).values()) == ["One of the CRM.", "One.", "Two."]


def test_move_are_pruned_and_brought_back(corpus: Corpus) -> None:
    corpus.ingest(["calls"])
    Path("calls/c.jsonl").rename("calls/d.jsonl")
    Path("calls/a.txt").unlink()
    summary = corpus.ingest(["calls"], prune=True)
    # Record r1 moved with its file; the one without an id has a new one.
    assert (summary.documents, summary.documents_unchanged) == (1, 1)
    assert (summary.documents_deleted, summary.sources_pruned) == (2, 2)
    assert set(stored(corpus)) == {"sub/b.txt", "r1", "d.jsonl#2"}
    corpus.delete(["r1", "sub/b.txt"])
    again = corpus.ingest(["calls"])
    assert (again.documents, again.documents_unchanged) == (2, 1)
    assert set(stored(corpus)) == {"sub/b.txt", "r1", "d.jsonl#2"}

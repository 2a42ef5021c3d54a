"""`mine` and `scan` have the habits of grep: -l, -L, -c, -m, -A, -B, -C, and its exit statuses."""

from __future__ import annotations

import csv
import textwrap
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from slice_os import Corpus, Document, InputError, Segment, SpanEncoder
from slice_os.arrays import IntArray
from slice_os.hits.bands import PROBABLE_FROM, UNSURE_FROM
from slice_os.hits.document_hits import DocumentHits
from slice_os.hits.hit import Context, Hit
from slice_os.labels.label import Label
from slice_os.search import run as search_run
from slice_os.search.around import units_in, with_around
from slice_os.search.run import make_query, nearest_spans
from slice_os.stores.local.terms import terms
from slice_os.tables.spreadsheets import read_csv, read_xlsx
from slice_os.text.numbered import Sections
from slice_os.topics import Topic
from slice_os.topics.run import search_topics

from .command_line import Run

CANCEL = ("-p", "I want to cancel my subscription")
SAID = [
    "Hello there. 👋",
    "Hi, I'd like to cancel my subscription.",
    "Sure.",
    "And also please end my subscription for the phone.",
    "Goodbye.",
]


def conversation(doc_id: str, said: list[str]) -> Document:
    places, place = [], 0
    for number, text in enumerate(said):
        speaker = ("agent", "customer")[number % 2]
        places.append(Segment(place, place + len(text), speaker=speaker))
        place += len(text) + 1
    return Document(doc_id, "\n".join(said), segments=tuple(places))


CALL = conversation("call", SAID)
NOTE = Document(
    "note", "The e\u0301tude is nice. Please cancel my subscription. Dogs bark. Cats too."
)
LETTER = (
    "This is what the family of Ann decided after we had talked on Sunday. In view of the bills of "
    "April and May, I want to cancel my subscription for the newspaper and the Sunday paper. Could "
    "you please cancel my subscription in the city of Berlin, too? It rains here all day long."
)
OTHERS = [
    Document("near", "My subscription costs ten euros a month.", {"kind": "chat"}),
    Document("weather", "The weather is nice today.", {"kind": "chat"}),
    Document("empty", " \n"),
]


@pytest.fixture(scope="module")
def store(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = str(tmp_path_factory.mktemp("grep") / "store")
    with Corpus(place, encoder) as corpus:
        corpus.add([CALL, NOTE, *OTHERS])
    return place


def test_documents_with_without_and_how_many(run: Run, store: str) -> None:
    mine = ("mine", *CANCEL, "--store", store)
    assert run(*mine, "-l", "--text") == (0, "call\nnote\n", "")
    status, counted, _ = run(*mine, "-c", "--text")
    assert (status, counted) == (0, "call:2\nempty:0\nnear:0\nnote:1\nweather:0\n")
    assert run(*mine, "-c", "-m", "1").rows()[0] == {"doc_id": "call", "hits": 1}


def test_who_lacks_it_is_a_ranking(run: Run, store: str) -> None:
    mine = ("mine", *CANCEL, "--store", store)
    _, listed, counted = run(*mine, "-L")
    rows = [orjson.loads(line) for line in listed.splitlines()]
    assert [row["doc_id"] for row in rows][:3] == ["empty", "weather", "near"]
    assert [row["finding"] for row in rows] == ["lacks", "lacks", "lacks", "has", "has"]
    assert [row["hits"] for row in rows] == [0, 0, 0, *(row["hits"] for row in rows[3:])]
    assert rows[0] == {"doc_id": "empty", "finding": "lacks", "hits": 0}
    likely = [row["nearest"]["probability"] for row in rows[1:]]
    assert likely[:2] == sorted(likely[:2])
    assert (max(likely[:2]) < UNSURE_FROM, min(likely[2:]) >= PROBABLE_FROM) == (True, True)
    texts = {one.id: one.text for one in (CALL, NOTE, *OTHERS)}
    for row in rows[1:]:
        span = row["nearest"]
        assert texts[row["doc_id"]][span["start"] : span["end"]] == span["text"]
    assert counted == "3 lack it (below 0.15), 0 unsure, 2 have it (0.65 or more)\n"
    _, told, _ = run(*mine, "-L", "--text", "--filter", "kind=chat")
    assert [line.split("  ")[2] for line in told.splitlines()] == ["weather", "near"]
    assert "ten euros a month” (0-39, cosine 0.6" in told
    _, told, _ = run(*mine, "-L", "--text", "--min-probability", "0.9999")
    assert [line.split("  ")[0].strip() for line in told.splitlines()[3:]] == ["unsure"] * 2


def test_a_rejected_hit_is_none_and_an_accepted_one_is_sure(
    encoder: SpanEncoder, tmp_path: Path
) -> None:
    topic = Topic("cancel", (CANCEL[1],), min_probability=0.9999)
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.add([CALL, NOTE, *OTHERS])

        def listed(labels: Sequence[Label]) -> dict[str, DocumentHits]:
            found = search_topics(corpus, [topic], None, labels)
            return {one.doc_id: one for one in found.documents(corpus, "without")}

        before = listed(())
        labels = [
            Label("cancel", hit.text, row.doc_id == "note", row.doc_id, hit.start, hit.end)
            for row in before.values()
            if row.finding == "unsure" and (hit := row.nearest)
        ]
        after = listed(labels)
    assert {label.doc_id for label in labels} == {"call", "note"}
    assert after["note"].finding == "has"
    call, former = after["call"].nearest, before["call"].nearest
    assert call
    assert former
    assert (call.label, call.start != former.start) == (None, True)


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_documents_and_topics_make_a_table(run: Run, store: str, ending: str) -> None:
    Path("cancel.toml").write_text('phrases = ["I want to cancel my subscription"]\n')
    Path("sun.toml").write_text('phrases = ["it is a lovely day"]\nthreshold = 0.99\n')
    mine = ("mine", "--topics", "cancel.toml", "--topics", "sun.toml", "--store", store, "-L")
    status, out, error = run(*mine, "-o", f"who.{ending}")
    assert (status, out) == (0, "")
    told = [line.split(":")[0] for line in error.splitlines()]
    assert told == [f"who.{ending}", "cancel", "sun"]
    read = read_csv if ending == "csv" else read_xlsx
    rows = [row for _, row in read(Path(f"who.{ending}"))]
    assert [*rows[-1]][:3] == ["doc_id", "cancel", "sun"]
    cells = {(cell["doc_id"], cell["topic"]): cell for cell in run(*mine).rows()}
    assert len(cells) == 2 * len(rows) == 10
    for row in rows:
        for topic in ("cancel", "sun"):
            cell = cells[row["doc_id"], topic]
            assert row[topic] == cell["finding"]
            if "nearest" in cell:
                near = cell["nearest"]
                assert row[f"{topic} text"] == near["text"]
                assert float(row[f"{topic} probability"]) == pytest.approx(near["probability"])
    told = run(*mine, "-o", "who.parquet")
    assert (told[0], "files ending in .csv, .xlsx" in told[2]) == (2, True)


def test_topics_with_the_names_of_other_columns_have_their_own(run: Run, store: str) -> None:
    Path("topics").mkdir()
    for name in ("doc_id", "cancel", "cancel text"):
        Path("topics", f"{name}.toml").write_text('phrases = ["I want to cancel my subscription"]')
    mine = ("mine", "--topics", "topics", "--store", store, "-L")
    assert run(*mine, "-o", "who.csv").err.startswith("who.csv: 5 documents\n")
    with Path("who.csv").open(newline="") as stream:
        head, *rows = csv.reader(stream)
    assert {"doc_id", "cancel", "cancel text: finding", "doc_id: finding"} == {*head[:4]}
    assert len(set(head)) == len(head) == 1 + 3 * 4
    assert sorted(row[0] for row in rows) == ["call", "empty", "near", "note", "weather"]


def test_what_comes_nearest_is_looked_for_in_some_passages_at_a_time(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked = run("mine", *CANCEL, "--store", store, "-L").rows()
    monkeypatch.setattr(search_run, "_LOADED", 1)
    assert run("mine", *CANCEL, "--store", store, "-L").rows() == ranked


CONTRACT = """AGREEMENT

1. Term
This agreement runs for 2.5 years. 12 Main Street is the seat.
2. Fees. 2.1 Client pays within 30 days. 2.2. I want to cancel my subscription.

ARTICLE IV
Limitation of Liability. Nobody is liable.
12.3 Limitation of Liability. I would like to cancel my subscription.
"""


@pytest.mark.parametrize(
    ("words", "section"),
    [
        ("AGREEMENT", None),
        ("This agreement runs", "1 Term"),
        ("12 Main", "1 Term"),
        ("Client pays", "2.1"),
        ("I want to cancel", "2.2"),
        ("Nobody is", "ARTICLE IV Limitation of Liability"),
        ("I would like", "12.3 Limitation of Liability"),
    ],
)
def test_the_nearest_numbered_heading(words: str, section: str | None) -> None:
    assert Sections(CONTRACT).before(CONTRACT.index(words)) == section


def test_hits_have_the_numbers_of_their_clauses(
    run: Run, encoder: SpanEncoder, tmp_path: Path
) -> None:
    with Corpus("s", encoder) as corpus:
        corpus.add([Document("contract", CONTRACT), NOTE])
    mine = ("mine", *CANCEL, "--store", "s", "--sections")
    found = {
        (row["doc_id"], row["metadata"].get("section")) for row in run(*mine, "-m", "9").rows()
    }
    assert found == {
        ("contract", "2.2"),
        ("contract", "12.3 Limitation of Liability"),
        ("note", None),
    }
    run(*mine, "-L", "-o", "who.csv")
    (row,) = (row for _, row in read_csv(Path("who.csv")) if row["doc_id"] == "contract")
    assert row["section"] in ("2.2", "12.3 Limitation of Liability")


def test_scanning_ranks_files_too(run: Run) -> None:
    for name, text in (("a", NOTE.text), ("b", OTHERS[0].text), ("c", "Dogs bark.")):
        Path(f"{name}.txt").write_text(text)
    _, out, error = run("scan", "a.txt", "b.txt", "c.txt", *CANCEL, "-L", "--text")
    assert [line.split()[0] for line in out.splitlines()] == ["lacks", "lacks", "has"]
    assert "  c.txt" in out.splitlines()[0]
    assert error.startswith("2 lack it")


def test_scanning_keeps_hits_only_to_list_documents(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("near.txt").write_text(OTHERS[0].text)
    kept: list[Hit] = []
    monkeypatch.setattr("slice_os.search.listing.Seen.note", lambda _, hit: kept.append(hit))
    assert run("scan", "near.txt", *CANCEL).status == 0
    assert not kept
    run("scan", "near.txt", *CANCEL, "-L")
    assert kept


def test_python_lists_what_the_command_lists(run: Run, store: str) -> None:
    phrase, chats = CANCEL[1], {"kind": "chat"}
    mine = ("mine", *CANCEL, "--store", store)
    flags = {"with": "-l", "without": "-L", "counts": "-c"}
    with Corpus(store) as corpus:
        for listing, flag in flags.items():
            listed = [one.to_dict() for one in corpus.list_documents(phrase, listing)]
            assert listed == run(*mine, flag).rows()
        listed = [one.to_dict() for one in corpus.list_documents(phrase, "counts", where=chats)]
        assert listed == run(*mine, "-c", "--filter", "kind=chat").rows()
        first = next(corpus.list_documents(phrase, "counts", max_count=1))
        assert (first.doc_id, first.hits) == ("call", 1)
        hits = corpus.around(corpus.mine(phrase), before=1, after=2)
        assert [hit.to_dict() for hit in hits] == run(*mine, "-B", "1", "-A", "2").rows()
        with pytest.raises(InputError, match="there are with, without, counts"):
            list(corpus.list_documents(phrase, "withot"))


def test_topics_have_the_same_habits(run: Run, store: str) -> None:
    Path("cancel.toml").write_text('phrases = ["I want to cancel my subscription"]\n')
    Path("sun.toml").write_text('phrases = ["it is a lovely day"]\nthreshold = 0.99\n')
    mine = ("mine", "--topics", "cancel.toml", "--topics", "sun.toml", "--store", store)
    assert run(*mine, "-l", "--text") == (0, "call\nnote\n", "")
    assert run(*mine, "-m", "1", "--counts", "topic", "--text")[1].split()[:2] == ["2", "hits"]
    status, _, error = run(*mine, "-m", "1", "--new")
    assert (status, error) == (
        2,
        "slice-os: --max-count: with --new, hits that are left out count as seen\n",
    )


def test_a_note_is_told_once_however_often_a_listing_asks_the_store(
    run: Run, encoder: SpanEncoder, tmp_path: Path
) -> None:
    with Corpus(tmp_path / "many", encoder) as corpus:
        corpus.add(Document(str(number), "Dogs bark.", {"pet": "dog"}) for number in range(65))
    ask = ("mine", *CANCEL, "--store", tmp_path / "many", "--filter", "pet=cat")
    for listing in ("-c", "-L"):
        assert run(*ask, listing) == (
            1,
            "",
            f"slice-os: {tmp_path / 'many'}: no passage has pet 'cat'; there are 'dog'\n",
        )


def test_turns_or_sentences_around_hits(run: Run, store: str) -> None:
    documents = {one.id: one for one in (CALL, NOTE)}
    lines = [
        {"id": one.id, "text": one.text} for one in (NOTE, replace(NOTE, text=f"{NOTE.text} Ah."))
    ]
    Path("notes.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    mine = ("mine", *CANCEL, "--store", store)
    found = run(*mine, "-m", "1", "-B", "1", "-A", "2").rows()
    assert [hit["passage"]["text"] for hit in found] == ["\n".join(SAID[:4]), NOTE.text]
    for hit in found:
        text, passage = documents[hit["doc_id"]].text, hit["passage"]
        assert text[hit["start"] : hit["end"]] == hit["text"]
        assert text[passage["start"] : passage["end"]] == passage["text"]
    scanned = run("scan", "notes.jsonl", *CANCEL, "-C", "9", "--order", "score").rows()
    assert [hit["passage"]["text"] for hit in scanned] == [line["text"] for line in lines]
    _, told, _ = run(*mine, "-m", "1", "-C", "1", "--text")
    assert f"     {SAID[0]}\n     >>Hi, I'd like to cancel my subscription<<.\n     Sure.\n" in told


def test_scanning_keeps_no_documents_for_what_is_around_hits(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slice_os.encoder.span_encoder.POOL_PIECES", 1)
    rows = ({"id": one, "text": "Dogs bark.", "note": 1_000_000 * "-"} for one in range(80))
    Path("notes.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    tracemalloc.start()
    status, _, _ = run("scan", "notes.jsonl", *CANCEL, "-C", "1")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (status, peak < 50_000_000) == (1, True)


def test_wrapped_lines_are_sentences_as_in_a_store(
    run: Run, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped = textwrap.fill(LETTER, 40)
    Path("letter.txt").write_text(wrapped)
    split: list[str] = []

    def noted(document: Document) -> list[tuple[int, int]]:
        split.append(document.id)
        return units_in(document)

    monkeypatch.setattr("slice_os.search.around.units_in", noted)
    scanned = run("scan", "letter.txt", *CANCEL, "-C", "0").rows()
    sentences = [hit["passage"]["text"] for hit in scanned]
    assert [" ".join(one.split())[:9] for one in sentences] == ["In view o", "Could you"]
    assert split == ["letter.txt"]
    with Corpus("store", encoder) as corpus:
        corpus.ingest(["letter.txt"])
        assert corpus.units("letter.txt") == units_in(Document("letter.txt", wrapped))
    mined = run("mine", *CANCEL, "--store", "store", "-C", "0").rows()
    assert [hit["passage"]["text"] for hit in mined] == sentences


def test_one_document_needs_no_terms_of_all(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def noted(connection: object, phrase: str) -> Iterator[tuple[str, int, IntArray, IntArray]]:
        counted.extend(terms(phrase))
        return iter(())

    monkeypatch.setattr("slice_os.stores.local.snapshot.occurrences", noted)
    with Corpus(store) as corpus:
        assert len(corpus.units("call")) == len(corpus.turns("call")) == len(SAID)
        query = make_query(corpus.encoder, CANCEL[1])
        near = nearest_spans(corpus.store, query, ["near", "empty"], {"all": [0]})
        assert {doc_id: own["all"].phrase for doc_id, own in near.items()} == {"near": CANCEL[1]}
        assert not counted
        corpus.mine(CANCEL[1])
        assert "subscription" in counted


def test_what_is_around_a_hit_stays_in_the_text() -> None:
    text = CALL.text
    for start in range(len(text)):
        hit = Hit("", "call", start, start + 1, text[start], 1.0, None, 1.0, {}, Context(0, 0, ""))
        for before, after in ((0, 0), (1, 0), (0, 2), (9, 9)):
            around = with_around(hit, text, units_in(CALL), before, after).passage
            assert around.text == text[around.start : around.end]
            assert around.start <= start < around.end
            assert before < 9 or around.text == text


def test_the_exit_status_is_that_of_grep(run: Run, store: str) -> None:
    asked = ("mine", "-p", "zebras dance on the moon", "--store", store)
    assert run(*asked)[0] == 0  # without one of these options, nothing found is no failure
    assert [run(*asked, flag)[0] for flag in ("-l", "-L", "-c", "-C1")] == [1, 1, 1, 1]
    assert run("mine", *CANCEL, "--store", "none")[0] == 1
    assert run("mine", *CANCEL, "--store", "none", "-l")[0] == 2
    Path("a.jsonl").write_text(f'{{"id": "a", "text": "{SAID[1]}"}}\nbad\n')
    status, out, error = run("scan", "a.jsonl", *CANCEL, "-l", "--text")
    assert (status, out) == (2, "a\n")
    assert error.startswith("slice-os: a.jsonl:2: not valid JSON")
    assert run("scan", "a.jsonl", *CANCEL)[0] == 1
    Path("b.txt").write_text("Dogs bark.")
    assert run("scan", "b.txt", *CANCEL, "-L", "--text")[:2] == (1, "lacks   0.000  b.txt\n")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-l", "-c"), "give one of -l, -L and -c"),
        (("-l", "-o", "hits.csv"), "leave out --output"),
        (("-c", "--collapse"), "leave out --collapse"),
        (("-L", "-C", "1"), "leave out -A, -B and -C"),
        (("-m", "0"), "0 is not in the range"),
    ],
)
def test_what_cannot_be_together(run: Run, store: str, options: tuple[str, ...], told: str) -> None:
    status, out, error = run("mine", *CANCEL, "--store", store, *options)
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert told in error

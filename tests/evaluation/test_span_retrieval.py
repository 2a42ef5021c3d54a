from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Corpus, InputError
from slice_os.datasets.span_sets import Span, SpanSet, read_span_set
from slice_os.evaluation import evaluate as evaluation_of
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import quiet
from slice_os.evaluation.span_retrieval.measures import (
    SpanCounts,
    answering,
    best_cut,
    count_spans,
    first_overlap,
    iou,
    ranking_scores,
)
from slice_os.evaluation.span_retrieval.ranking import SYSTEMS, SpanIndex, ranking_tasks
from slice_os.evaluation.span_retrieval.systems import Fit, answer, relevant
from slice_os.query.fusion import BM25_WEIGHT

from .commands import run_harness

DATA = Path(__file__).parents[3] / "shared" / "data"

CALLS = [
    "Hello, how are you? I want to cancel my subscription today. The weather is nice.",
    "My card was charged twice. I would like my money back, please. Thank you for your help.",
    "Where is my parcel? It should have come on Monday. Nobody told me anything.",
]
FILLER = " The meeting went on for a long time and nobody said anything about it at all." * 12
ASKED = {
    "end my plan": "I want to cancel my subscription",
    "give me a refund": "I would like my money back",
    "the delivery is late": "It should have come on Monday",
}


def spans_of(text: str, phrase: str) -> list[list[int]]:
    start = text.find(phrase)
    return [[start, start + len(phrase)]] if start >= 0 else []


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every phrase is asked of every call; each has its answer in one of them."""
    path = tmp_path_factory.mktemp("calls") / "calls.jsonl"
    with path.open("w", encoding="utf-8") as stream:
        for number, call in enumerate(CALLS):
            text = FILLER + " " + call + FILLER
            asked = [{"query": q, "spans": spans_of(text, a)} for q, a in ASKED.items()]
            record = {"id": f"call {number}", "text": text, "queries": asked, "split": "test"}
            stream.write(json.dumps(record) + "\n")
    return path


@pytest.fixture(scope="module")
def index(calls: Path, shipped: TextEncoder, tmp_path_factory: pytest.TempPathFactory) -> Any:
    assert shipped.spans is not None
    data = read_span_set(calls)
    named = tuple(replace(one, metadata={"call": one.id}) for one in data.documents)
    data = replace(data, documents=named)
    with Corpus(tmp_path_factory.mktemp("index") / "store", shipped.spans) as corpus:
        yield data, corpus, SpanIndex(corpus, shipped, data, quiet)


class TestMeasures:
    def test_overlap_of_spans(self) -> None:
        assert iou((0, 10), (0, 10)) == 1
        assert iou((0, 10), (5, 15)) == pytest.approx(1 / 3)
        assert iou((0, 10), (10, 20)) == 0

    def test_precision_and_recall_by_hand(self) -> None:
        gold = {"a": [(0, 10), (20, 30)], "b": [(0, 5)]}
        counts = count_spans([("a", 0, 8), ("a", 18, 40), ("c", 0, 4)], gold)
        assert counts == SpanCounts(3, 1, 3, 1, 34, 18, 25)
        assert counts.spans.precision == counts.spans.recall == pytest.approx(1 / 3)
        assert counts.characters.precision == pytest.approx(18 / 34)
        assert counts.characters.recall == pytest.approx(18 / 25)
        assert SpanCounts().spans.f1 == 0

    @given(
        st.lists(st.tuples(st.integers(0, 40), st.integers(1, 15))),
        st.lists(st.tuples(st.integers(0, 40), st.integers(1, 15))),
    )
    def test_characters_agree_with_sets(
        self, given_spans: list[tuple[int, int]], gold_spans: list[tuple[int, int]]
    ) -> None:
        given_spans = [(a, a + n) for a, n in given_spans]
        gold_spans = [(a, a + n) for a, n in gold_spans]
        counts = count_spans([("x", *span) for span in given_spans], {"x": gold_spans})
        ours = {c for a, b in given_spans for c in range(a, b)}
        theirs = {c for a, b in gold_spans for c in range(a, b)}
        assert counts.given_characters == len(ours)
        assert counts.gold_characters == len(theirs)
        assert counts.shared_characters == len(ours & theirs)

    def test_the_first_overlap_counts_ranks_from_one(self) -> None:
        gold = {"a": [(10, 20)]}
        assert first_overlap([("b", 10, 20), ("a", 0, 10), ("a", 19, 25)], gold) == 1 / 3
        assert first_overlap([("a", 0, 10)], gold) == 0

    @given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.data())
    def test_every_span_has_a_passage_that_answers(
        self, lengths: list[int], data: st.DataObject
    ) -> None:
        edges = np.cumsum([0, *lengths]).tolist()
        passages = list(itertools.pairwise(edges))
        start = data.draw(st.integers(0, edges[-1] - 1))
        end = data.draw(st.integers(start + 1, edges[-1]))
        found = answering(passages, [(start, end)])
        assert found
        inside = [n for n, (a, b) in enumerate(passages) if start <= a and b <= end]
        assert set(inside) <= set(found)

    def test_a_span_over_two_passages_is_answered_by_the_one_with_most(self) -> None:
        passages = [(0, 100), (101, 200), (201, 300)]
        assert answering(passages, [(90, 131)]) == [1]
        assert answering(passages, [(50, 260)]) == [0, 1, 2]
        assert answering(passages, [(100, 101)]) == []

    def test_rankings_are_scored_as_published(self) -> None:
        scores = ranking_scores({"q": ["a", "b", "c"], "r": []}, {"q": ["b"], "r": ["a"]})
        assert scores["nDCG@10"]["q"] == pytest.approx(1 / np.log2(3))
        assert scores["R@5"] == {"q": 1.0, "r": 0.0}

    @given(
        st.lists(
            st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.4]), st.integers(0, 5), st.integers(0, 5)),
            min_size=1,
        )
    )
    def test_the_best_cut_is_the_best_of_all(self, hits: list[tuple[float, int, int]]) -> None:
        scores = [score for score, _, _ in hits]
        counts = [
            SpanCounts(given_characters=right + wrong, shared_characters=right)
            for _, right, wrong in hits
        ]
        gold = sum(count.shared_characters for count in counts) + 3

        def f1(threshold: float) -> float:
            kept = [c for s, c in zip(scores, counts, strict=True) if s >= threshold]
            total = sum(kept, SpanCounts(gold_characters=gold))
            return total.characters.f1

        assert f1(best_cut(scores, counts, gold)) == pytest.approx(max(map(f1, [*scores, np.inf])))


class TestSystems:
    @pytest.mark.parametrize(
        ("system", "asked"),
        [
            ("dense", {"fusion": "cosine", "order": "score"}),
            ("hybrid", {"order": "score"}),
            ("likeliest", {}),
        ],
    )
    def test_answer_what_a_search_answers(
        self, index: Any, system: str, asked: dict[str, Any]
    ) -> None:
        data, corpus, indexed = index
        for setting in ("document", "corpus"):
            tasks = ranking_tasks(data, setting)
            answers = answer(indexed, tasks, [system], {}, "", quiet)[system]
            for one in tasks:
                where = None if one.doc_id is None else {"call": one.doc_id}
                hits = corpus.search(one.query, top_k=10, where=where, **asked)
                page = answers.pages[one.id][: len(hits)]
                assert [hit.span for hit in page] == [(h.doc_id, h.start, h.end) for h in hits]
                name = "score" if asked else "probability"
                np.testing.assert_allclose(
                    [hit.score for hit in page], [getattr(hit, name) for hit in hits], atol=1e-6
                )

    @pytest.mark.parametrize(("system", "fusion"), [("dense", "cosine"), ("hybrid", "convex")])
    def test_may_give_several_hits_of_a_passage(
        self, index: Any, shipped: TextEncoder, system: str, fusion: str
    ) -> None:
        data, corpus, alone = index
        indexed = SpanIndex(corpus, shipped, data, quiet, per_passage=3)
        tasks = ranking_tasks(data, "corpus")
        answers = answer(indexed, tasks, [system], {}, "", quiet)[system]
        assert answers.rankings == answer(alone, tasks, [system], {}, "", quiet)[system].rankings
        for one in tasks:
            hits = corpus.search(one.query, top_k=100, fusion=fusion, per_passage=3, order="score")
            page = answers.pages[one.id]
            assert len(page) > len(answers.rankings[one.id])
            assert [hit.span for hit in page] == [(h.doc_id, h.start, h.end) for h in hits]
            np.testing.assert_allclose(
                [hit.score for hit in page], [hit.score for hit in hits], atol=1e-6
            )

    def test_find_what_is_said_in_other_words(self, index: Any) -> None:
        data, _, indexed = index
        tasks = ranking_tasks(data, "corpus")
        answers = answer(indexed, tasks, SYSTEMS, {}, "", quiet)
        for one in tasks:
            assert first_overlap([answers["dense"].pages[one.id][0].span], one.gold) == 1
            assert answers["passage"].pages[one.id][0].span[0] in one.gold

    def test_may_give_whole_sentences(self, index: Any, shipped: TextEncoder) -> None:
        data, corpus, _ = index
        widened = SpanIndex(corpus, shipped, data, quiet, sentences=True)
        texts = {document.id: document.text for document in data.documents}
        tasks = ranking_tasks(data, "corpus")
        answers = answer(widened, tasks, ["dense"], {}, "", quiet)["dense"]
        given = [answers.pages[one.id][0].span for one in tasks]
        assert [texts[doc_id][start:end] for doc_id, start, end in given] == [
            "I want to cancel my subscription today.",
            "I would like my money back, please.",
            "It should have come on Monday.",
        ]

    def test_bm25_ranks_no_passage_without_a_term(self, index: Any) -> None:
        data, _, indexed = index
        tasks = ranking_tasks(SpanSet("", data.documents, data.questions), "corpus")
        answers = answer(indexed, tasks, ["bm25"], {}, "", quiet)["bm25"]
        assert all(hit.score > 0 for page in answers.pages.values() for hit in page)

    def test_weights_of_nothing_and_all_are_the_parts(self, index: Any) -> None:
        data, _, indexed = index
        for scored in indexed.score(ranking_tasks(data, "document")):
            hybrid, dense = scored.scores("hybrid", BM25_WEIGHT), scored.scores("dense")
            np.testing.assert_allclose(scored.scores("hybrid", 0.0), dense)
            assert not np.allclose(hybrid, dense) or scored.bm25.max() == 0

    def test_a_threshold_cuts_what_is_given(self, index: Any) -> None:
        data, _, indexed = index
        tasks = ranking_tasks(data, "document")
        answers = answer(indexed, tasks, ["dense"], {"dense": Fit()}, "", quiet)["dense"]
        one = tasks[0].id
        least = answers.pages[one][2].score
        assert len(answers.given(one, None)) == 1
        assert len(answers.given(one, least)) == 3
        assert relevant(indexed, tasks).keys() == {a.id for a in tasks if a.gold}


def evaluate(*arguments: str) -> dict[str, Any]:
    return run_harness("span-retrieval", *arguments)


class TestHarness:
    def test_gives_a_row_for_each_system_and_setup(self, calls: Path, tmp_path: Path) -> None:
        stores = tmp_path / "stores"
        result = evaluate("--data", str(calls), "--split", "test", "--stores", str(stores))
        rows = {(row["setting"], row["system"]): row for row in result["rows"]}
        assert set(rows) == {(s, n) for s in ("document", "corpus") for n in SYSTEMS}
        assert rows["document", "dense"]["questions"] == 3
        assert rows["document", "dense"]["mrr"] == 1
        assert rows["document", "bm25"]["encoder"] == "bm25"
        best = max(result["rows"], key=lambda row: row["ndcg@10"])
        assert rows[best["setting"], best["system"]]["ndcg@10_low"] <= best["ndcg@10"]
        tested = [row["p_holm"] for row in result["rows"] if row["p_holm"] is not None]
        assert len(tested) == 10
        assert all(0 < p <= 1 for p in tested)
        again = evaluate("--data", str(calls), "--split", "test", "--stores", str(stores))
        assert [{**row, "seconds": 0} for row in again["rows"]] == [
            {**row, "seconds": 0} for row in result["rows"]
        ]

    def test_a_cache_keeps_the_stores_too(self, calls: Path, tmp_path: Path) -> None:
        options: dict[str, Any] = {"split": "test", "settings": ["document"]}
        first = evaluation_of("span-retrieval", calls, cache=tmp_path / "cache", **options)
        (cost,) = (tmp_path / "cache" / "stores").glob("*/cost.json")
        filled = cost.stat().st_mtime_ns
        again = evaluation_of("span-retrieval", calls, cache=tmp_path / "cache", **options)
        assert again.rows == first.rows
        assert cost.stat().st_mtime_ns == filled

    def test_fits_on_a_training_set(self, calls: Path, tmp_path: Path) -> None:
        train = tmp_path / "train.jsonl"
        train.write_text(
            calls.read_text()
            .replace("Hello, how", "Good day, how")
            .replace("Thank you", "Many thanks")
            .replace("parcel", "package")
        )
        systems = ("--system", "hybrid", "--system", "dense")
        given = ("--data", str(calls), "--train", str(train), "--setting", "document")
        result = evaluate(*given, *systems)
        dense, hybrid = result["rows"]
        assert dense["threshold"] is not None
        assert dense["bm25_weight"] is None
        assert 0 <= hybrid["bm25_weight"] < 1
        assert dense["character_f1"] > 0.3

    def test_refuses_to_train_on_what_it_measures(self, calls: Path) -> None:
        with pytest.raises(InputError, match="training documents are among those measured"):
            evaluate("--data", str(calls), "--train", str(calls))

    def test_refuses_encoders_without_a_store(self, calls: Path, tmp_path: Path) -> None:
        vectors = tmp_path / "glove.txt"
        vectors.write_text("end 0.1 0.2\nplan 0.3 0.1\n")
        with pytest.raises(InputError, match="goes through a store"):
            evaluate("--data", str(calls), "--encoder", f"glove:{vectors}")

    def test_says_that_nothing_is_likeliest_without_a_verifier(
        self, calls: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(SpanIndex, "verifies", False)
        with pytest.raises(InputError, match="nothing is likeliest; add a system"):
            evaluate("--data", str(calls), "--system", "likeliest")


class TestForms:
    def test_queries_may_share_spans(self, tmp_path: Path) -> None:
        data = self.read(
            tmp_path,
            {"text": "one two", "queries": ["a", "b"], "spans": [[0, 3]]},
            {"text": "one two", "queries": ["a", "b"], "spans": [[[0, 3]], [[4, 7], [0, 3]]]},
        )
        assert [(q.doc_id, q.query, q.spans) for q in data.questions] == [
            ("1", "a", ((0, 3),)),
            ("1", "b", ((0, 3),)),
            ("2", "a", ((0, 3),)),
            ("2", "b", ((0, 3), (4, 7))),
        ]

    def test_published_forms_are_known_by_their_fields(self, tmp_path: Path) -> None:
        cuad = {
            "title": "t",
            "text": "Law of Ohio.",
            "thirdparty_split": "test",
            "clauses": {"Law": [{"start": 7, "end": 11, "text": "Ohio", "occurrences": 1}]},
        }
        asked = {"Law": "Which law?", "Date": "Which date?"}
        categories = [{"category": name, "description": what} for name, what in asked.items()]
        (tmp_path / "categories.json").write_text(json.dumps(categories))
        annotations = {"annotations": {"n": {"choice": "Entailment", "spans": [0]}}}
        contract = {"id": 3, "text": "Do not copy.", "spans": [[0, 12]]}
        nli = {
            "labels": {"n": {"hypothesis": "No copies."}},
            "documents": [contract | {"annotation_sets": [annotations]}],
        }
        meeting = {
            "id": "m",
            "meeting_transcripts": [
                {"speaker": "A", "content": "Hi."},
                {"speaker": "B", "content": "Hello."},
            ],
            "specific_query_list": [{"query": "greeting", "relevant_text_span": [["0", "1"]]}],
        }
        label = {"slot": "people", "valueSpan": {"endIndex": 8}}
        table = [{"userInput": {"text": "5 adults"}, "labels": [label]}]
        question = {
            "question": 'of "Law". Details: Where?',
            "answers": [{"text": "Ohio", "answer_start": 3}],
        }
        paragraph = {"context": "In Ohio.", "qas": [question]}
        squad = {"version": "1", "data": [{"title": "T", "paragraphs": [paragraph]}]}
        expected: list[tuple[Any, str, str, Sequence[Span], int]] = [
            (cuad, "CUAD", "Which law?", ((7, 11),), 2),
            (nli, "ContractNLI", "No copies.", ((0, 12),), 1),
            (meeting, "QMSum", "greeting", ((0, 10),), 1),
            (table, "restaurant8k", "number of people", ((0, 8),), 5),
            (squad, "SQuAD", "Where?", ((3, 7),), 1),
        ]
        for content, name, query, spans, n_questions in expected:
            path = tmp_path / "data.json.gz"
            path.write_bytes(gzip.compress(json.dumps(content).encode()))
            data = read_span_set(path)
            assert (data.name, len(data.questions)) == (name, n_questions)
            assert (data.questions[0].query, data.questions[0].spans) == (query, spans)
        assert read_span_set(self.write(tmp_path, cuad), "test").name == "CUAD test"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"text": "x", "queries": [{"query": "a", "spans": [[0, 9]]}]}', "span 0..9"),
            ('{"text": "x", "queries": ["a", "b"], "spans": [[[0, 1]]]}', "record 1 is unlike"),
            ('{"text": "x", "queries": [{"query": "a"}]}', "record 1 is unlike"),
            ('{"text": "x", "queries": [{"query": 5, "spans": [[0, 1]]}]}', "query 5 is no text"),
            ('{"body": "x"}', "of no known form"),
            ("not json", "not valid JSON"),
            ("", "not valid JSON"),
            (
                '{"id": 1, "text": "x", "queries": []}\n{"id": 1, "text": "y", "queries": []}',
                "two documents have the id",
            ),
        ],
    )
    def test_what_is_wrong_is_said_in_one_line(
        self, tmp_path: Path, content: str, message: str
    ) -> None:
        path = tmp_path / "data.jsonl"
        path.write_text(content)
        with pytest.raises(InputError, match=message) as caught:
            read_span_set(path)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)

    def test_a_missing_file_and_split_are_named(self, tmp_path: Path, calls: Path) -> None:
        with pytest.raises(InputError, match="not found; expected"):
            read_span_set(tmp_path / "nothing.jsonl")
        with pytest.raises(InputError, match="no document of split 'dev'; it has test"):
            read_span_set(calls, "dev")

    @pytest.mark.parametrize(
        ("file", "split", "n_documents", "n_answered"),
        [
            ("cuad/cuad_spans.half.jsonl.gz", "test", 32, 400),
            ("contract-nli/dev.json.gz", None, 61, 614),
            ("qmsum/val.jsonl.gz", None, 35, 237),
            ("restaurant8k/train_0.json", None, 8198, 7635),
        ],
    )
    def test_real_files_are_read(
        self, file: str, split: str | None, n_documents: int, n_answered: int
    ) -> None:
        if not (DATA / file).is_file():
            pytest.skip(f"{DATA / file} is not there")
        data = read_span_set(DATA / file, split)
        assert len(data.documents) == n_documents
        assert sum(bool(one.spans) for one in data.questions) == n_answered

    def read(self, folder: Path, *records: dict[str, Any]) -> SpanSet:
        return read_span_set(self.write(folder, *records))

    def write(self, folder: Path, *records: dict[str, Any]) -> Path:
        path = folder / "data.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

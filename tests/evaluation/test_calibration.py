from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Corpus, Document, InputError, ModelError, SpanEncoder, scan
from slice_os.datasets.span_sets import DocumentSpan
from slice_os.encoder.calibration import (
    CALIBRATION_FILE,
    Calibration,
    fit_calibration,
    read_calibration,
)
from slice_os.evaluation import evaluate as evaluation_of
from slice_os.evaluation.calibration import (
    MEASURES,
    Outcomes,
    expected_calibration_error,
    reliability,
)
from slice_os.evaluation.measures import measured
from slice_os.evaluation.span_retrieval.measures import halves_overlap

from .commands import run_harness

CALIBRATION = Calibration("0" * 16, -6.0, 7.0, 0.3, -1.0, 100, 40, "made up")
ANSWERS = [
    ("end my subscription", "I want to cancel my subscription."),
    ("give me a refund", "I would like my money back."),
    ("the parcel is late", "My delivery should have come on Monday."),
    ("nobody answers the phone", "I call and call and no one picks up."),
    ("the app keeps crashing", "Your application stops working all the time."),
    ("I forgot my password", "I can't remember my password any more."),
    ("change my address", "I have moved to another street, please note it."),
    ("the screen is broken", "There's a crack in the display."),
    ("speak to a manager", "Let me talk to your supervisor."),
    ("it costs too much", "That is far too expensive for me."),
    ("thank you for your help", "Thanks a lot for helping me."),
    ("book a table for two", "We'd like to reserve a table for two people."),
]


@pytest.fixture
def calibrated(encoder: SpanEncoder, tmp_path: Path) -> SpanEncoder:
    """The bundled model with a calibration beside it."""
    return SpanEncoder(model_beside(encoder, tmp_path, CALIBRATION), threads=2)


def model_beside(encoder: SpanEncoder, folder: Path, calibration: Calibration) -> Path:
    model = folder / "model"
    model.mkdir()
    for file in encoder.folder.iterdir():
        if file.name != CALIBRATION_FILE:
            (model / file.name).symlink_to(file.resolve())
    replace(calibration, encoder_id=encoder.card.encoder_id).save(model / CALIBRATION_FILE)
    return model


class TestMap:
    @given(
        st.lists(st.floats(-1, 1), min_size=2, max_size=20), st.integers(1, 40), st.integers(1, 20)
    )
    def test_rises_with_the_cosine(
        self, cosines: list[float], phrase_words: int, span_words: int
    ) -> None:
        values = CALIBRATION.probabilities(sorted(cosines), phrase_words, span_words)
        assert (np.diff(values) >= 0).all()
        assert ((values > 0) & (values <= 1)).all()

    def test_fits_what_made_the_labels(self) -> None:
        draw = np.random.default_rng(0)
        cosines = np.tanh(draw.normal(0.8, 0.3, 20_000))
        phrase, span = draw.integers(2, 15, 20_000), draw.integers(1, 21, 20_000)
        right = draw.random(20_000) < CALIBRATION.probabilities(cosines, phrase, span)
        fitted = fit_calibration("x", cosines, phrase, span, right, "drawn")
        assert fitted.intercept == pytest.approx(CALIBRATION.intercept, abs=0.5)
        assert fitted.closeness == pytest.approx(CALIBRATION.closeness, abs=0.5)
        assert fitted.phrase_words == pytest.approx(CALIBRATION.phrase_words, abs=0.15)
        assert fitted.word_ratio == pytest.approx(CALIBRATION.word_ratio, abs=0.15)
        assert (fitted.hits, fitted.right) == (20_000, int(right.sum()))

    def test_never_falls_with_the_cosine(self) -> None:
        cosines = np.linspace(0.1, 0.9, 100)
        fitted = fit_calibration("x", cosines, 3, np.full(100, 3), cosines < 0.5, "upside down")
        assert fitted.closeness == 0

    def test_stays_finite_where_hits_can_be_told_apart(self) -> None:
        cosines = np.linspace(0.1, 0.9, 100)
        fitted = fit_calibration("x", cosines, 3, np.full(100, 3), cosines > 0.5, "clear")
        values = fitted.probabilities(cosines, 3, 3)
        assert np.isfinite(values).all()
        assert values[0] < 0.05
        assert values[-1] > 0.95

    def test_needs_hits_of_both_kinds(self) -> None:
        with pytest.raises(InputError, match="9 right and 91 wrong hits are too few"):
            fit_calibration("x", np.zeros(100), 3, np.full(100, 3), np.arange(100) < 9, "few")


class TestFile:
    def test_comes_back_as_it_was(self, tmp_path: Path) -> None:
        assert read_calibration(tmp_path, "0" * 16) is None
        CALIBRATION.save(tmp_path / CALIBRATION_FILE)
        assert read_calibration(tmp_path, "0" * 16) == CALIBRATION

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"encoder_id": "1" * 16}, "belongs to encoder 1111111111111111, not 0000"),
            ({"closeness": "high"}, "closeness is 'high'; give a number"),
            ({"more": 1}, "unknown key more; there are encoder_id, intercept"),
        ],
    )
    def test_what_is_wrong_is_said(
        self, tmp_path: Path, change: dict[str, Any], message: str
    ) -> None:
        file = tmp_path / CALIBRATION_FILE
        CALIBRATION.save(file)
        file.write_text(json.dumps(json.loads(file.read_bytes()) | change))
        with pytest.raises(ModelError, match=message):
            read_calibration(tmp_path, "0" * 16)
        file.write_text("{")
        with pytest.raises(ModelError, match="not valid JSON"):
            read_calibration(tmp_path, "0" * 16)


class TestHits:
    TEXT = "Hello. I want to cancel my subscription today. The weather is nice."
    PHRASE = "end my subscription"

    def test_carry_the_probability(self, calibrated: SpanEncoder, tmp_path: Path) -> None:
        document = Document("call", self.TEXT)
        with Corpus(tmp_path / "store", calibrated) as corpus:
            corpus.add([document])
            hits = [
                *corpus.search(self.PHRASE, verify=False),
                *corpus.mine(self.PHRASE, threshold=0.3, verify=False),
                *scan([document], self.PHRASE, threshold=0.3, encoder=calibrated, verify=False),
            ]
        assert len(hits) >= 3
        for hit in hits:
            expected = CALIBRATION.probabilities(hit.cosine, 3, len(hit.text.split()))
            assert hit.probability == pytest.approx(float(expected))
            assert hit.to_dict()["probability"] == pytest.approx(hit.probability, abs=1e-6)

    def test_carry_none_without_a_calibration(
        self, encoder: SpanEncoder, calibrated: SpanEncoder, tmp_path: Path
    ) -> None:
        (calibrated.folder / CALIBRATION_FILE).unlink()
        plain = SpanEncoder(calibrated.folder, threads=2)
        document = Document("call", self.TEXT)
        (hit, *_) = scan([document], self.PHRASE, threshold=0.3, encoder=plain, verify=False)
        assert hit.probability is None
        assert hit.to_dict()["probability"] is None

    def test_the_encoder_is_the_same_with_and_without(
        self, encoder: SpanEncoder, calibrated: SpanEncoder
    ) -> None:
        assert calibrated.card == encoder.card


class TestMeasures:
    def test_probabilities_that_hold_have_no_error(self) -> None:
        probabilities = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 20)
        right = np.concatenate([np.arange(20) < 20 * p for p in (0.1, 0.3, 0.5, 0.7, 0.9)])
        assert expected_calibration_error(probabilities, right) == pytest.approx(0, abs=1e-9)
        assert [one.hits for one in reliability(probabilities, right)] == [20] * 5

    def test_errors_by_hand(self) -> None:
        probabilities = np.array([0.2, 0.9])
        right = np.array([1.0, 0.0])
        assert expected_calibration_error(probabilities, right) == pytest.approx(0.85)
        assert measured(MEASURES, Outcomes(probabilities, right))["brier"] == pytest.approx(0.725)

    def test_a_hit_is_right_where_half_lies_in_the_answer(self) -> None:
        gold = {"a": [(10, 20)]}
        assert halves_overlap(DocumentSpan("a", 15, 25), gold)
        assert halves_overlap(DocumentSpan("a", 0, 40), gold)
        assert not halves_overlap(DocumentSpan("a", 16, 36), gold)
        assert not halves_overlap(DocumentSpan("b", 10, 20), gold)


class TestHarness:
    def test_fits_measures_and_writes(self, encoder: SpanEncoder, tmp_path: Path) -> None:
        files = []
        for number, name in enumerate(("train", "test")):
            path = tmp_path / f"{name}.jsonl"
            with path.open("w") as stream:
                for query, answer in ANSWERS:
                    before = f"Call {name} {number}. Nothing was said for a long time. "
                    spans = [[len(before), len(before) + len(answer)]]
                    record = {
                        "text": f"{before}{answer} The weather is nice.",
                        "queries": [{"query": query, "spans": spans}],
                    }
                    stream.write(json.dumps(record) + "\n")
            files.append(str(path))
        train, test = files
        out = tmp_path / "new" / "fitted.json"
        rows = evaluate("--data", test, "--train", train, "--fit", str(out))
        kinds = {row["probability"]: row for row in rows}
        assert kinds["fitted"]["hits"] == len(ANSWERS) * 10
        assert kinds["fitted"]["ece"] < kinds["cosine"]["ece"]
        assert kinds["fitted"]["brier"] < kinds["fitted"]["brier_of_base_rate"]
        fitted = read_calibration_file(out)
        assert fitted.encoder_id == encoder.card.encoder_id
        model = model_beside(encoder, tmp_path, fitted)
        again = evaluation_of("calibration", test, [f"a={model}", "b=default"])
        brier = next(row["brier"] for row in again.rows if row["probability"] == "by the cosine")
        assert brier == pytest.approx(kinds["fitted"]["brier"], rel=1e-5)
        # A plot has eight series at most.
        assert [one.title for one in again.figures] == ["a: reliability", "b: reliability"]

    def test_refuses_to_train_on_what_it_measures(self, tmp_path: Path) -> None:
        path = tmp_path / "set.jsonl"
        path.write_text('{"text": "one two", "queries": [{"query": "one", "spans": [[0, 3]]}]}')
        with pytest.raises(InputError, match="training documents are among those measured"):
            evaluate("--data", str(path), "--train", str(path))
        with pytest.raises(InputError, match="give one encoder and a training set"):
            evaluate("--data", str(path), "--fit", str(tmp_path / "out.json"))

    @pytest.mark.parametrize("option", ["--out", "--report", "--fit"])
    def test_refuses_what_cannot_be_written_before_it_measures(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
    ) -> None:
        (tmp_path / "file").touch()
        asked = ("--data", "missing", "--train", "missing", option)
        with pytest.raises(InputError, match="is a file, not a folder"):
            evaluate(*asked, str(tmp_path / "file" / "out"))
        monkeypatch.setattr("os.access", lambda *_, **__: False)
        with pytest.raises(InputError, match="cannot be written; choose another folder"):
            evaluate(*asked, str(tmp_path / "new" / "out"))


def read_calibration_file(path: Path) -> Calibration:
    fields = json.loads(path.read_bytes())
    del fields["checksum"]
    return Calibration(**fields)


def evaluate(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run_harness("calibration", *arguments)["rows"]
    return rows

"""Estimates of what topics find and miss."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import orjson
import pytest

from slice_os import Corpus, Document, InputError, SpanEncoder, StoreError
from slice_os.estimates.recall import Stratum, allocated, estimate
from slice_os.estimates.sampling import sample, score_passages
from slice_os.labels.label import Label
from slice_os.topics import Topic, mine_topics
from slice_os.topics.table import topic_text

from .command_line import Run

CANCEL = Topic("cancel", ("I want to cancel my subscription", "please end my plan"))
RUNS, CUT = 1_000, 0.85


@pytest.mark.parametrize(
    ("sizes", "shares", "labels"),
    [
        ((300, 300, 800, 2_000), (0.95, 0.6, 0.2, 0.02), (20, 40, 40, 40)),
        pytest.param(
            *((100, 200, 700, 20_000), (0.9, 0.5, 0.1, 0.001), (20, 40, 40, 50)),
            marks=pytest.mark.release,
        ),
        pytest.param(
            *((20, 50, 300, 5_000), (0.8, 0.3, 0.03, 0.0005), (20, 20, 30, 70)),
            marks=pytest.mark.release,
        ),
    ],
)
def test_intervals_have_the_truth_in_19_of_20_simulated_samples(
    sizes: tuple[int, ...],
    shares: tuple[float, ...],
    labels: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("slice_os.estimates.recall._DRAWS", 1_000)
    random = np.random.default_rng(7)
    inside = dict.fromkeys(("precision", "recall", "elusion", "richness"), 0)
    for run in range(RUNS):
        right = random.binomial(sizes, shares)
        seen = random.hypergeometric(right, np.array(sizes) - right, labels)
        strata = [
            Stratum(1 - number / 10, *of)
            for number, of in enumerate(zip(sizes, labels, seen.tolist(), strict=True))
        ]
        found = estimate(strata, CUT, seed=run)
        truth = {
            "precision": right[:2].sum() / sum(sizes[:2]),
            "recall": right[:2].sum() / max(right.sum(), 1),
            "elusion": right[2:].sum() / sum(sizes[2:]),
            "richness": right.sum() / sum(sizes),
        }
        for name, value in truth.items():
            own = found.richness if name == "richness" else getattr(found.cut, name)
            inside[name] += own.low - 1e-9 <= value <= own.high + 1e-9
    assert min(inside.values()) >= 0.93 * RUNS, inside


def test_most_labels_go_to_where_right_and_wrong_are_mixed() -> None:
    assert allocated([100, 100, 100], [0.99, 0.5, 0.01], 100) == [14, 72, 14]
    assert allocated([2, 1000], [0.5, 0.5], 100) == [2, 98]
    assert sum(allocated([50, 900, 900, 900], [0.9, 0.1, 0.01, 0.01], 60)) == 60


@pytest.fixture(scope="module")
def corpus(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    said = ["I want to cancel my subscription.", "Please end my plan today.", "Cancel it for me."]
    other = ["My screen is broken.", "When does the flight leave?", "I lost my card.", "Thanks."]
    corpus = Corpus(tmp_path_factory.mktemp("recall") / "calls", encoder)
    corpus.add(Document(f"yes {n}", f"{said[n % 3]} Number {n}.") for n in range(30))
    corpus.add(Document(f"no {n}", f"{other[n % 4]} Number {n}.") for n in range(270))
    return corpus


def labelled(corpus: Corpus, size: int) -> list[Label]:
    """The sample, labelled by the truth."""
    hits = sample(corpus, CANCEL, size).hits
    return [Label.of(hit, hit.doc_id.startswith("yes")) for hit in hits]


def test_a_sample_tells_what_all_labels_would(corpus: Corpus) -> None:
    whole = sample(corpus, CANCEL, 10**6)
    assert sum(one.passages for one in whole.strata) == len(whole.hits) == 300
    truth = whole.estimate(labelled(corpus, 10**6))
    assert truth.richness.value == truth.richness.low == truth.richness.high == 0.1
    assert truth.cut.recall.low == truth.cut.recall.value == truth.cut.recall.high > 0.5
    labels = labelled(corpus, 60)
    drawn = sample(corpus, CANCEL, 60)
    assert drawn == sample(corpus, CANCEL, 60)
    assert drawn.waiting(labels) == []
    assert len(drawn.waiting(labels[1:])) == 1
    found = drawn.estimate(labels)
    assert found.labels == len(labels) == 60
    enough = found.least_cut(0.5)
    assert enough is not None
    assert enough.precision.low >= 0.5
    assert found.least_cut(1.0) is None
    assert found.cut.recall.low <= truth.cut.recall.value <= found.cut.recall.high
    assert found.cut.precision.low <= truth.cut.precision.value <= found.cut.precision.high
    with pytest.raises(InputError, match="no passage of the sample for 'cancel' has a label"):
        drawn.estimate([])


def test_a_topic_with_a_threshold(corpus: Corpus) -> None:
    strict = Topic("cancel", CANCEL.phrases, threshold=0.8)
    drawn = sample(corpus, strict, 60)
    assert drawn.cut == 0.8
    assert any(stratum.least == pytest.approx(0.8) for stratum in drawn.strata)


@pytest.mark.parametrize("cut", [0.35, 0.65, 0.7, 0.8, 0.9])
def test_the_cut_is_that_of_the_topic(cut: float) -> None:
    edges = np.array([0.95, cut, 0.2], dtype=np.float32).tolist()
    found = estimate([Stratum(edge, 100, 10, 5) for edge in edges], cut).cut
    assert (found.least, found.found) == (edges[1], 200)


def test_what_a_counter_phrase_takes_is_not_found(encoder: SpanEncoder, tmp_path: Path) -> None:
    counter = ("I want to cancel my order",)
    topic = Topic("cancel", ("I want to cancel my plan",), counter_phrases=counter, threshold=0.6)
    with Corpus(tmp_path / "calls", encoder) as corpus:
        said = ["I want to cancel my order.", "I want to cancel my plan.", "Nice weather."]
        corpus.add(Document(text, text) for text in said)
        scored = score_passages(corpus, topic)
        found = [hit.doc_id for hit in mine_topics(corpus, [topic])]
        assert len(found) == 1 == np.count_nonzero(scored.scores >= np.float32(scored.cut))
        corpus.delete([said[2]])
        with pytest.raises(StoreError, match="changed while passages were chosen"):
            scored.sample(corpus, 3)


def test_on_the_command_line(corpus: Corpus, tmp_path: Path, command_line: Run) -> None:
    path = tmp_path / "cancel.toml"
    path.write_text(topic_text(CANCEL))
    place = ["--store", str(corpus.store.folder), "--work", str(tmp_path)]
    run = partial(command_line, "estimate", path, *place, "--size", "30")

    status, out, told = run()
    asked = [orjson.loads(line) for line in out.splitlines()]
    assert (status, len(asked)) == (1, int(told.split()[0]))
    status, out, _ = run("--text", typed="yn")
    assert status == 1
    answers = [
        Label.of(hit, hit.doc_id.startswith("yes"))
        for hit in sample(corpus, CANCEL, 30).waiting([])
    ]
    (tmp_path / "labels.jsonl").write_bytes(b"".join(answer.to_json() for answer in answers))
    status, out, _ = run("--text")
    assert (status, out.splitlines()[0]) == (0, f"after {len(answers)} labels, from 300 passages")
    assert "  recall     " in out
    assert orjson.loads(run()[1])["labels"] == len(answers)

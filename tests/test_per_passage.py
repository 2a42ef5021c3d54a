"""Several hits of a passage in a search: which ones, in which order, and page by page."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from slice_os import AsyncCorpus, Corpus, Hit, InputError, SpanEncoder
from slice_os.query.fusion import BM25_WEIGHT

from .builders import places, said_again

CANCEL, RETURN = "cancel my order", "send the item back"
SENTENCES = [
    "Please cancel my order today.",
    "The weather is nice.",
    "Yes, my order should be cancelled.",
    "I would like to send the item back.",
    "My name is Ann and I live in Rome.",
    "Can you stop what I bought?",
    "Goodbye.",
]
ALL: dict[str, Any] = {"top_k": 5_000, "per_passage": 1_000, "order": "score"}


@pytest.fixture(scope="module")
def calls(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = Corpus(tmp_path_factory.mktemp("several") / "calls.slice", encoder)
    corpus.add(said_again(SENTENCES, 3))
    return corpus


def passage(hit: Hit) -> tuple[str, int]:
    return hit.doc_id, hit.passage.start


def test_a_passage_that_says_it_twice_has_two_hits(calls: Corpus) -> None:
    asked: dict[str, Any] = {"unit": "sentence", "top_k": 50, "threshold": 0.5}

    def said(per_passage: int) -> list[str]:
        hits = calls.search(CANCEL, per_passage=per_passage, **asked)
        return [hit.text for hit in hits if hit.doc_id == "d14"]

    assert said(1) == ["Please cancel my order today."]
    assert sorted(said(2)) == [
        "Please cancel my order today.",
        "Yes, my order should be cancelled.",
    ]


@pytest.mark.parametrize("fusion", ["convex", "cosine"])
def test_the_best_hits_are_the_best_of_all(calls: Corpus, fusion: str) -> None:
    everything = calls.search([CANCEL], fusion=fusion, threshold=0.3, **ALL)
    assert sorted(places(everything)) == sorted(places(calls.mine(CANCEL, threshold=0.3)))
    assert len(everything) > 2 * len({passage(hit) for hit in everything})
    scores = [hit.score for hit in everything]
    assert scores == sorted(scores, reverse=True)
    for top_k in (1, 4, 9, 30):
        best = calls.search(CANCEL, fusion=fusion, threshold=0.3, **(ALL | {"top_k": top_k}))
        assert list(best) == list(everything)[:top_k]
    for most in (1, 2, 3):
        some = calls.search(CANCEL, fusion=fusion, threshold=0.3, **(ALL | {"per_passage": most}))
        assert list(some) == [hit for hit in everything if hit in some]
        assert Counter(map(passage, some)) == {
            place: min(count, most) for place, count in Counter(map(passage, everything)).items()
        }


@pytest.mark.parametrize("unit", ["span", "sentence"])
def test_mining_gives_the_same_hits_and_scores(calls: Corpus, unit: str) -> None:
    found = calls.search(CANCEL, unit=unit, threshold=0.3, **ALL)
    mined = calls.mine(CANCEL, unit=unit, threshold=0.3)
    assert sorted(found, key=lambda hit: places([hit])) == sorted(
        mined, key=lambda hit: places([hit])
    )


def test_the_best_hit_of_a_passage_scores_as_it_does_alone(calls: Corpus) -> None:
    alone = calls.search([CANCEL, RETURN], top_k=50, order="score")
    several = calls.search([CANCEL, RETURN], **ALL)
    best: dict[tuple[str, int], Hit] = {}
    for hit in several:
        best.setdefault(passage(hit), hit)
    assert list(best.values()) == list(alone)
    for hit in several:
        first = best[passage(hit)]
        if hit is not first:
            # With the fusion of its own cosine, and with the BM25 of the passage.
            assert hit.score < first.score
            assert (hit.phrase, hit.bm25) == (first.phrase, first.bm25)
    assert alone == calls.search([CANCEL, RETURN], top_k=50, order="score", per_passage=1)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"unit": "sentence", "threshold": 0.4},
        {"fusion": "cosine", "per_passage": 2},
        {"counter_phrases": ["keep the order", "stop what I bought"]},
        {"collapse": True, "unit": "sentence"},
        {"min_probability": 0.2},
        {"order": "probability", "unit": "clause"},
    ],
)
def test_pages_make_one_list(calls: Corpus, asked: dict[str, Any]) -> None:
    asked = {"per_passage": 3, "phrases": [CANCEL, RETURN], "verify": False, **asked}
    whole = calls.search(**asked, top_k=24)
    pages = [
        hit for offset in range(0, 24, 3) for hit in calls.search(**asked, top_k=3, offset=offset)
    ]
    assert len(whole) >= 12 or "min_probability" in asked
    assert places(pages) == places(whole)
    assert [hit.score for hit in pages] == [hit.score for hit in whole]
    assert max(Counter(map(passage, whole)).values()) > 1


def test_a_further_hit_is_ranked_by_its_own_cosine(calls: Corpus) -> None:
    by_cosine = calls.search(CANCEL, fusion="cosine", **ALL)
    fused = {place: hit for hit in calls.search(CANCEL, **ALL) for place in places([hit])}
    first: dict[tuple[str, int], Hit] = {}
    for hit in by_cosine:
        best = first.setdefault(passage(hit), hit)
        if hit is not best:
            assert hit.score == pytest.approx(hit.cosine, abs=1e-4)
        same, top = fused[places([hit])[0]], fused[places([best])[0]]
        lost = (1 - BM25_WEIGHT) * (best.score - hit.score)
        assert same.score == pytest.approx(top.score - lost, abs=1e-4)


def test_counter_phrases_leave_out_what_is_nearer_to_them(calls: Corpus) -> None:
    asked: dict[str, Any] = {"phrases": CANCEL, "threshold": 0.3, **ALL}
    everything, left = calls.search(**asked), calls.search(**asked, counter_phrases=[RETURN])
    mined = calls.mine(CANCEL, threshold=0.3, counter_phrases=[RETURN])
    assert sorted(places(left)) == sorted(places(mined))
    assert list(left) == [hit for hit in everything if hit in left]
    assert 0 < len(left) < len(everything)


def test_asyncio_finds_the_same(calls: Corpus, encoder: SpanEncoder) -> None:
    async def ask() -> Any:
        async with AsyncCorpus(calls.info().location, encoder) as there:
            return await there.search(CANCEL, per_passage=3, unit="sentence")

    assert asyncio.run(ask()) == calls.search(CANCEL, per_passage=3, unit="sentence")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"per_passage": 0}, "per_passage 0: give 1 or more"),
        ({"per_passage": 1.5}, "per_passage 1.5: give a whole number"),
        (
            {"per_passage": 2, "fusion": "rrf"},
            "per_passage 2: fusion 'rrf' ranks passages, not hits; use one of convex, cosine",
        ),
        ({"per_passage": 2, "fusion": "server"}, "fusion 'server' ranks passages, not hits"),
        ({"per_passage": 2, "fusion": "x"}, "no fusion 'x'"),
    ],
)
def test_what_cannot_be_is_told(calls: Corpus, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        calls.search(CANCEL, **asked)
    assert len(calls.search(CANCEL, fusion="rrf", per_passage=1)) == 10

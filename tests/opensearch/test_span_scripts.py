"""The scripts best_span and place_span give the best span of a passage, in both languages."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pytest
from opensearchpy import OpenSearch, RequestError

pytestmark = pytest.mark.version

DIMENSION = 20  # not a multiple of 8
LONGEST = 20
INDEX: dict[str, Any] = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0},
    "mappings": {
        "_source": {"excludes": ["tokens"]},
        "properties": {
            "name": {"type": "keyword"},
            "text": {"type": "text"},
            "tokens": {"type": "binary", "doc_values": True},
        },
    },
}
CUT = "the token vectors are cut"
LANGUAGES = ["painless", "slice_os"]

Vectors = npt.NDArray[np.float32]
Span = tuple[float, int, int, int]
"""Cosine, start, end, number of words."""


@dataclass(frozen=True)
class Passage:
    """Words as rows of start, end, first piece and one past the last; int8 vectors."""

    words: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.int8]
    scales: Vectors

    @property
    def floats(self) -> Vectors:
        return self.vectors * self.scales[:, None]

    def mean(self, first: int, count: int) -> Vectors:
        """The sum of a span's vectors over its number of words."""
        pieces = slice(self.words[first, 2], self.words[first + count - 1, 3])
        return np.asarray(self.floats[pieces].sum(axis=0, dtype=np.float64) / count)

    def pack(self, version: int = 2, bits: int = 8) -> bytes:
        n_words = len(self.words)
        norms = np.zeros((n_words, LONGEST))
        for first in range(n_words):
            for count in range(1, min(LONGEST, n_words - first) + 1):
                norms[first, count - 1] = np.linalg.norm(self.mean(first, count))
        step = np.float32(norms.max() / 65_535)
        steps = np.rint(norms / (step or 1)).astype("<u2")
        width = 2 if self.words.max() < 1 << 16 else 4
        shape = (self.vectors.shape[1], n_words, len(self.vectors))
        return b"".join(
            [
                struct.pack("<BBBBHIIf", version, width, LONGEST, bits, *shape, step),
                self.words.astype(f"<u{width}").tobytes(),
                steps.tobytes(),
                self.scales.astype("<f4").tobytes(),
                self.vectors.tobytes(),
            ]
        )

    def spans(self, phrases: Vectors, least: int, most: int) -> Iterator[Span]:
        """Every span with its highest cosine."""
        for first in range(len(self.words)):
            for count in range(least, min(most, len(self.words) - first) + 1):
                mean = self.mean(first, count)
                length = np.linalg.norm(mean) or 1
                start, end = self.words[first, 0], self.words[first + count - 1, 1]
                yield float((phrases @ mean).max() / length), int(start), int(end), count


def passage(seed: int, n_words: int, *, pieces: int = 3, gap: int = 1) -> Passage:
    """Random words of up to that many pieces each, that many code points apart."""
    random = np.random.default_rng(seed)
    last = random.integers(1, pieces + 1, n_words).cumsum()
    first = np.concatenate([[0], last[:-1]])
    end = random.integers(2, 9, n_words).cumsum() + gap * np.arange(n_words)
    start = np.concatenate([[0], end[:-1] + gap])
    return Passage(
        np.stack([start, end, first, last], axis=1),
        random.integers(-127, 128, (last[-1], DIMENSION)).astype(np.int8),
        random.uniform(0.0001, 0.01, last[-1]).astype(np.float32),
    )


def without_some(whole: Passage, rows: slice) -> Passage:
    """The passage with zero vectors in these rows."""
    vectors = whole.vectors.copy()
    vectors[rows] = 0
    return replace(whole, vectors=vectors)


PASSAGES = {
    "usual": passage(1, 60),
    "other": passage(2, 45),
    "one word": passage(3, 1),
    "two words": passage(4, 2),
    "long word": passage(5, 1, pieces=200),
    "zero vectors inside": without_some(passage(6, 30), slice(5, 25)),
    "zero": without_some(passage(7, 9), slice(None)),
    "1,024 pieces": passage(8, 1_024, pieces=1),
    "60,000 code points": passage(9, 30, gap=1_900),
    "4-byte word table": passage(10, 30, gap=5_000),
}


def unit(seed: int, count: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


PHRASES = unit(99, 3)


@pytest.fixture(scope="module")
def index(opensearch_url: str) -> Iterator[str]:
    """All passages and one without token vectors, in several segments."""
    name = f"test-{uuid4().hex[:12]}"
    with OpenSearch(opensearch_url, timeout=60) as client:
        client.indices.create(index=name, body=INDEX)
        for number, (key, value) in enumerate(PASSAGES.items()):
            tokens = b64encode(value.pack()).decode()
            body = {"name": key, "text": "word " * (number % 4), "tokens": tokens}
            client.index(index=name, body=body, refresh=number % 3 == 0)
        client.index(index=name, body={"name": "no tokens"}, refresh=True)
        yield name
        client.indices.delete(index=name)


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    if request.param == "slice_os":
        request.getfixturevalue("native_engine")
    return str(request.param)


def script(language: str, name: str, phrases: Vectors, **changed: Any) -> dict[str, Any]:
    source = name
    if language == "painless":
        folder = files("slice_os.stores.cluster.search") / "scripts"
        texts = [folder / f"{part}.painless" for part in ("span_scores", name)]
        source = "".join(text.read_text("utf-8") for text in texts)
    params: dict[str, Any] = {"vectors": phrases.tolist(), "min_words": 1, "max_words": LONGEST}
    if name == "best_span":
        params |= {"threshold": -1, "cosine_weight": 1, "bm25_weight": 0}
    return {"lang": language, "source": source, "params": params | changed}


def scored(script: dict[str, Any], query: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"script_score": {"query": query or {"match_all": {}}, "script": script}}


def scores(client: OpenSearch, index: str, query: dict[str, Any]) -> dict[str, float]:
    body = {"size": 100, "_source": ["name"], "query": query}
    hits = client.search(index=index, body=body)["hits"]["hits"]
    return {hit["_source"]["name"]: hit["_score"] for hit in hits}


def places(client: OpenSearch, index: str, script: dict[str, Any]) -> dict[str, list[float]]:
    fields = {"place": {"script": script}}
    body = {"size": 100, "_source": ["name"], "script_fields": fields}
    hits = client.search(index=index, body=body)["hits"]["hits"]
    return {hit["_source"]["name"]: hit.get("fields", {}).get("place", []) for hit in hits}


def run(client: OpenSearch, index: str, name: str, script: dict[str, Any]) -> None:
    """Run either script over the whole index."""
    if name == "best_span":
        scores(client, index, scored(script))
    else:
        places(client, index, script)


def best(value: Passage, phrases: Vectors, least: int = 1, most: int = LONGEST) -> Span | None:
    """The first of the best spans."""
    return max(value.spans(phrases, least, most), key=lambda span: span[0], default=None)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("least", "most"), [(1, LONGEST), (3, 7), (1, 99)])
def test_scores_and_places_are_those_of_every_span(
    opensearch: OpenSearch, index: str, language: str, count: int, least: int, most: int
) -> None:
    phrases = PHRASES[:count]
    lengths = {"min_words": least, "max_words": most}
    query = scored(script(language, "best_span", phrases, **lengths))
    found = scores(opensearch, index, query)
    placed = places(opensearch, index, script(language, "place_span", phrases, **lengths))
    assert found.pop("no tokens") == 0
    assert placed.pop("no tokens") == []
    assert found.keys() == placed.keys() == PASSAGES.keys()
    for name, value in PASSAGES.items():
        wanted = best(value, phrases, least, min(most, LONGEST))
        if wanted is None:
            assert (found[name], placed[name]) == (0, []), name
            continue
        assert found[name] - 1 == pytest.approx(wanted[0], abs=1e-4), name
        assert placed[name][0] == pytest.approx(wanted[0], abs=1e-4), name
        assert tuple(placed[name][1:]) == wanted[1:], name


def test_the_weights_are_those_of_the_request(
    opensearch: OpenSearch, index: str, language: str
) -> None:
    text = {"match": {"text": "word"}}
    weights = {"cosine_weight": 0.25, "bm25_weight": 0.5}
    found = scores(
        opensearch, index, scored(script(language, "best_span", PHRASES, **weights), text)
    )
    lexical = scores(opensearch, index, text)
    assert found.keys() == lexical.keys()
    for name, value in found.items():
        wanted = best(PASSAGES[name], PHRASES)
        assert wanted is not None
        assert value == pytest.approx(1 + 0.25 * wanted[0] + 0.5 * lexical[name], abs=1e-4), name


def test_passages_below_the_threshold_have_no_score(
    opensearch: OpenSearch, index: str, language: str
) -> None:
    spans = {name: best(value, PHRASES) for name, value in PASSAGES.items()}
    cosines = {name: span[0] for name, span in spans.items() if span}
    threshold = float(np.median(list(cosines.values()))) + 1e-3
    above = {name for name, cosine in cosines.items() if cosine > threshold}
    assert 0 < len(above) < len(PASSAGES)
    query = scored(script(language, "best_span", PHRASES, threshold=threshold))
    query["script_score"]["min_score"] = 0.5
    assert scores(opensearch, index, query).keys() == above


def test_many_phrases_over_a_long_passage(
    opensearch: OpenSearch, index: str, language: str
) -> None:
    """The loop limit of painless is for one phrase and passage."""
    phrases = unit(7, 200)
    found = scores(opensearch, index, scored(script(language, "best_span", phrases)))
    for name in ("usual", "1,024 pieces"):
        wanted = best(PASSAGES[name], phrases)
        assert wanted is not None
        assert found[name] - 1 == pytest.approx(wanted[0], abs=1e-4)


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        (PASSAGES["two words"].pack(version=1), "token vectors of version 1 with 8 bits"),
        (PASSAGES["two words"].pack(bits=4), "token vectors of version 2 with 4 bits"),
        (PASSAGES["two words"].pack()[:-1], CUT),
        (PASSAGES["two words"].pack()[:5], CUT),
        (struct.pack("<BBBBHIIf", 2, 2, 20, 8, DIMENSION, 1 << 31, 0, 1), CUT),
        (struct.pack("<BBBBHIIf", 2, 2, 20, 8, DIMENSION, 1 << 30, 9, 1), CUT),
    ],
)
@pytest.mark.parametrize("name", ["best_span", "place_span"])
def test_unknown_or_cut_tokens_fail_the_request(
    opensearch: OpenSearch, index_name: str, language: str, name: str, tokens: bytes, reason: str
) -> None:
    opensearch.indices.create(index=index_name, body=INDEX)
    body = {"tokens": b64encode(tokens).decode()}
    opensearch.index(index=index_name, body=body, refresh=True)
    with pytest.raises(RequestError) as caught:
        run(opensearch, index_name, name, script(language, name, PHRASES))
    assert caught.value.status_code == 400
    assert reason in str(caught.value.info)


@pytest.mark.parametrize("name", ["best_span", "place_span"])
def test_other_dimensions_fail_the_request(
    opensearch: OpenSearch, index: str, language: str, name: str
) -> None:
    with pytest.raises(RequestError) as caught:
        run(opensearch, index, name, script(language, name, PHRASES[:, :8]))
    assert f"the phrase has 8 dimensions, the token vectors {DIMENSION}" in str(caught.value.info)

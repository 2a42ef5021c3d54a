"""Compare first pages with sentence search and BM25, on places that people judged blind.

    python benchmarks/pooled_pages.py --corpora nltk_data/packages/corpora
        [--sentences mpnet=all-mpnet-base-v2 ...] [--trained RUN]

Two sets of phrases by writers who saw samples of the texts, and no hits, and the places that
systems found among their first ten, judged by readers who saw neither system nor score, over
collections of the zip files of nltk_data. far_wordings: 56 phrases that share no wording with what
they look for, over reviews of gadgets, telephone calls, news and State of the Union addresses.
plain_phrases: 52 phrases as users type them, over titles of browser faults, overheard talk and film
reviews. A place is a sentence; a hit counts for the one that it shares most with. Places that
nobody judged count as wrong. Prints P@10, recall@10 and nDCG@10 by set, and how far the default
page is ahead, with 95 % of 2,000 bootstrap samples of phrases. --trained adds the first fifty hits
by score in the order of the bundled network alone, and of another one, such as a teacher that is
not exported: RUN is the folder torch of recipes/verifier.py. Then nothing is saved.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import numpy as np
import orjson

from recipes.verifier_parts.odds import Reads, bundled_odds
from slice_os import Corpus, Document, Hit, SpanEncoder
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words
from slice_os.verifier.claims import claim_of

JUDGED = Path(__file__).parent / "pooled"
RESULT = Path(__file__).parent / "results" / "pooled_pages.json"
SETS = {
    "far_wordings": {"gadgets": 150, "telephone": 14, "news": 225, "addresses": 7},
    "plain_phrases": {"faults": 300, "overheard": 700, "films": 80},
}
FIRST, FOUND, FIFTY, DEEP, SAMPLES = 10, 20, 50, 200, 2_000
PAGES: dict[str, dict[str, Any]] = {
    "default": {},
    "all fifty read": {"order": "probability"},
    "by score": {"order": "score", "verify": False},
    "by cosine": {"order": "score", "verify": False, "fusion": "cosine"},
}
Place = tuple[str, int, int]


def main() -> None:
    """Search, measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--sentences", action="append", default=[], help="NAME=MODEL; repeatable")
    parser.add_argument("--trained", type=Path, help="a run, beside the bundled network")
    chosen = parser.parse_args()
    networks: dict[str, Reads] = {}
    if chosen.trained:
        from recipes.verifier_parts.claim_network import trained_odds

        networks = {"bundled": bundled_odds(), "trained": trained_odds(chosen.trained)}
    result = {name: compared(name, chosen.corpora, chosen.sentences, networks) for name in SETS}
    print(json.dumps(result, indent=1))
    if not chosen.trained:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


def compared(
    name: str, corpora: Path, models: list[str], networks: Mapping[str, Reads]
) -> dict[str, Any]:
    """Measures of each system over a set, and how far the default page is ahead of it."""
    judged = [orjson.loads(line) for line in (JUDGED / f"{name}.jsonl").read_bytes().splitlines()]
    found: dict[str, list[np.ndarray]] = {}
    for collection, most in SETS[name].items():
        rows = [row for row in judged if row["collection"] == collection]
        documents = documents_of(collection, most, corpora)
        phrases = [row["phrase"] for row in rows]
        for system, pages in pages_of(documents, phrases, models, networks):
            found.setdefault(system, []).append(measured(rows, pages))
    scores = {system: np.concatenate(rows) for system, rows in found.items()}
    count = len(scores["default"])
    samples = np.random.default_rng(0).integers(0, count, (SAMPLES, count))
    result: dict[str, Any] = {"phrases": count}
    for system, own in scores.items():
        ahead = scores["default"][:, 2] - own[:, 2]
        low, high = np.percentile(ahead[samples].mean(axis=1), [2.5, 97.5])
        result[system] = {
            **dict(zip(("P@10", "recall@10", "nDCG@10"), own.mean(axis=0).round(3), strict=True)),
            "default ahead": [round(float(one), 3) for one in (ahead.mean(), low, high)],
        }
    return result


def documents_of(collection: str, most: int, folder: Path) -> list[Document]:
    """The texts of a collection, so many at most, by chance."""
    texts: dict[str, Callable[[Path], Iterator[tuple[str, str]]]] = {
        "gadgets": _gadgets,
        "telephone": _telephone,
        "news": _news,
        "addresses": _addresses,
        "faults": _faults,
        "overheard": _overheard,
        "films": _films,
    }
    kept = [Document(key, text) for key, text in texts[collection](folder) if len(text) > 40]
    random.Random(17).shuffle(kept)
    return kept[:most]


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences and lines of three or more words begin and end."""
    start = 0
    for end in sorted(
        {*sentence_ends(text), *(one.end() for one in re.finditer("\n", text)), len(text)}
    ):
        own = text[start:end]
        if len(find_words(own)) >= 3:
            yield start + len(own) - len(own.lstrip()), start + len(own.rstrip())
        start = end


def pages_of(
    documents: list[Document], phrases: list[str], models: list[str], networks: Mapping[str, Reads]
) -> Iterator[tuple[str, list[list[Place]]]]:
    """The first places of each system for each phrase."""
    places = [(document.id, *own) for document in documents for own in sentences(document.text)]
    own: dict[str, list[Place]] = {}
    for place in places:
        own.setdefault(place[0], []).append(place)

    def place_of(hit: Hit) -> Place:
        near = own.get(hit.doc_id, [])
        return max(near, key=lambda one: min(one[2], hit.end) - max(one[1], hit.start))

    def shown(orders: Iterable[Iterable[int]]) -> list[list[Place]]:
        return [[places[i] for i in islice(order, FOUND)] for order in orders]

    with TemporaryDirectory() as folder, Corpus(Path(folder, "store")) as corpus:
        corpus.add(documents)
        for name, options in PAGES.items():
            hits = [corpus.search(phrase, top_k=FOUND, **options) for phrase in phrases]
            yield name, [list(dict.fromkeys(map(place_of, page))) for page in hits]
        deep = [corpus.search(phrase, top_k=DEEP, **PAGES["by score"]) for phrase in phrases]
    for name, reads in networks.items():
        yield (
            f"fifty by the {name} network alone",
            [by_network(page[:FIFTY], place_of, reads) for page in deep],
        )
    texts = {document.id: document.text for document in documents}
    said = [texts[name][start:end] for name, start, end in places]
    encoder = SpanEncoder()
    near = encoder.encode_phrases(phrases) @ encoder.encode_phrases(said).T
    yield "cosine of sentences", shown(np.argsort(-near, axis=1, kind="stable"))
    number = {place: at for at, place in enumerate(places)}
    weighed = []
    for found, row in zip(deep, near.tolist(), strict=True):
        best: dict[Place, float] = {}
        for hit in found:
            place = place_of(hit)
            best[place] = max(best.get(place, -1), hit.score + row[number[place]] / 2)
        weighed.append([place for place, _ in sorted(best.items(), key=lambda one: -one[1])])
    yield "score and half the sentence", weighed
    words = [_bm25(said, phrase) for phrase in phrases]
    yield "BM25 of sentences", shown(words)
    for model in models:
        from sentence_transformers import SentenceTransformer

        name, _, folder_of = model.partition("=")
        network = SentenceTransformer(folder_of, device="cpu")
        vectors = network.encode(said, normalize_embeddings=True)
        near = network.encode(phrases, normalize_embeddings=True) @ vectors.T
        orders = np.argsort(-near, axis=1, kind="stable")
        yield name, shown(orders)
        both = [
            _fused(order[:200], other[:200]) for order, other in zip(orders, words, strict=True)
        ]
        yield f"{name} and BM25", shown(both)


def by_network(hits: Sequence[Hit], place_of: Callable[[Hit], Place], reads: Reads) -> list[Place]:
    """The places of hits, the likeliest first."""
    odds = np.array(reads([claim_of(hit) for hit in hits]))
    return list(dict.fromkeys(place_of(hits[at]) for at in np.argsort(-odds, kind="stable")))


def measured(judged: list[dict[str, Any]], pages: list[list[Place]]) -> np.ndarray:
    """``(n, 3)`` P@10, recall@10, nDCG@10 of phrases that a place says, without open ones."""
    rows = []
    for row, page in zip(judged, pages, strict=True):
        right, skipped = ({tuple(one) for one in row[name]} for name in ("right", "open"))
        if right:
            shown = [place for place in page if place not in skipped][:FIRST]
            gains = np.array([place in right for place in shown] + [False] * (FIRST - len(shown)))
            discounts = 1 / np.log2(np.arange(FIRST) + 2)
            best = discounts[: len(right)].sum()
            rows.append((gains.mean(), gains.sum() / len(right), gains @ discounts / best))
    return np.array(rows).reshape(-1, 3)


def _bm25(texts: list[str], phrase: str, k1: float = 1.2, b: float = 0.75) -> np.ndarray:
    """Texts by Okapi BM25 of lower-cased words, the best first."""
    words = [re.findall(r"[a-z0-9']+", text.lower()) for text in texts]
    lengths = np.array(list(map(len, words)))
    scores = np.zeros(len(texts))
    for term in re.findall(r"[a-z0-9']+", phrase.lower()):
        counts = np.array([own.count(term) for own in words])
        rare = np.log(1 + (len(texts) - (counts > 0).sum() + 0.5) / ((counts > 0).sum() + 0.5))
        scores += rare * counts * (k1 + 1) / (counts + k1 * (1 - b + b * lengths / lengths.mean()))
    return np.argsort(-scores, kind="stable")


def _fused(first: np.ndarray, second: np.ndarray) -> list[int]:
    """Both orders by the sum of reciprocal ranks."""
    sums: dict[int, float] = {}
    for order in (first, second):
        for rank, one in enumerate(order.tolist(), 1):
            sums[one] = sums.get(one, 0) + 1 / (60 + rank)
    return sorted(sums, key=lambda one: -sums[one])


def _lines(folder: Path, name: str, encoding: str = "latin-1") -> Iterator[tuple[str, str]]:
    """Names and texts of the files of a collection."""
    with ZipFile(folder / f"{name}.zip") as archive:
        for file in sorted(archive.namelist()):
            if not file.endswith("/") and "README" not in file:
                text = archive.read(file).decode(encoding)
                yield file, text.replace("\r\n", "\n").replace("\r", "\n")


def _gadgets(folder: Path) -> Iterator[tuple[str, str]]:
    """Reviews, one a document; without the labels before `##`."""
    for part in ("product_reviews_1", "product_reviews_2"):
        for file, text in _lines(folder, part):
            number, review = 0, list[str]()
            for line in [*text.split("\n"), "[t]"]:
                if line.startswith("[t]"):
                    if review:
                        yield f"{Path(file).stem}-{number}", " ".join(review)
                        number += 1
                    review = []
                elif "##" in line and not line.startswith("*"):
                    review += filter(None, [_joined(line.split("##", 1)[1].strip())])


def _joined(line: str) -> str:
    """A line whose words and marks were set apart."""
    line = re.sub(r"\s+([.,!?;:%)])", r"\1", line)
    line = re.sub(r"([(])\s+", r"\1", line)
    line = re.sub(r"\s+('(?:s|m|re|ve|d|ll|t)\b)", r"\1", line)
    verbs = "do|does|did|is|was|are|were|have|has|had|ca|wo|could|would|should|ai"
    return re.sub(rf"\b({verbs}) n't\b", r"\1n't", line).replace("$ ", "$").strip()


def _telephone(folder: Path) -> Iterator[tuple[str, str]]:
    """Calls."""
    text = dict(_lines(folder, "switchboard"))["switchboard/transcript"]
    for number, call in enumerate(re.split(r"(?=^A\.1:)", text, flags=re.MULTILINE)):
        if own := call.strip():
            turns = re.sub(r"^([AB])\.\d+:", r"\1:", own, flags=re.MULTILINE)
            yield f"call-{number}", turns.replace("\n\n", "\n")


def _news(folder: Path) -> Iterator[tuple[str, str]]:
    """Eight paragraphs of news each, some of them by chance."""
    texts = dict(_lines(folder, "abc"))
    made = []
    for part in ("rural", "science"):
        paragraphs = [line.strip() for line in texts[f"abc/{part}.txt"].split("\n") if line.strip()]
        for first in range(0, len(paragraphs), 8):
            made.append((f"{part}-{first // 8}", "\n".join(paragraphs[first : first + 8])))
    random.Random(5).shuffle(made)
    yield from made[:450]


def _addresses(folder: Path) -> Iterator[tuple[str, str]]:
    """Addresses, some of them by chance."""
    made = [
        (Path(file).stem, re.sub(r"\s*\n\s*\n\s*", "\n", text))
        for file, text in _lines(folder, "state_union")
    ]
    random.Random(5).shuffle(made)
    yield from made[:26]


def _faults(folder: Path) -> Iterator[tuple[str, str]]:
    """Eight titles of reports each."""
    lines = dict(_lines(folder, "webtext"))["webtext/firefox.txt"].split("\n")
    for first in range(0, len(lines), 8):
        yield f"faults-{first // 8}", "\n".join(lines[first : first + 8])


def _overheard(folder: Path) -> Iterator[tuple[str, str]]:
    """Short talks."""
    talks = dict(_lines(folder, "webtext"))["webtext/overheard.txt"].split("\n\n")
    return ((f"talk-{number}", talk.strip()) for number, talk in enumerate(talks))


def _films(folder: Path) -> Iterator[tuple[str, str]]:
    """Reviews, whose words and marks were set apart."""
    for file, text in _lines(folder, "movie_reviews"):
        yield Path(file).stem, "\n".join(map(_joined, text.split("\n")))


if __name__ == "__main__":
    main()

"""The scripts that score passages on the server, over the field ``tokens``; see `codec`.

Two engines run the same scripts: Painless, which every distribution has, and the native engine of
the plugin in ``plugin/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from slice_os.arrays import FloatArray
from slice_os.query.query import Query

PLUGIN = "slice-os-span-score"

Script = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the best cosine and BM25 in a score; passages below the threshold score 0."""

    cosine: float = 1.0
    bm25: float = 0.0
    threshold: float = -1.0


@dataclass(frozen=True, slots=True)
class ScriptEngine:
    """An engine that runs the scripts, and how much work suits it.

    Attributes:
        lang: of the scripts.
        exhaustive_pieces: token vectors per shard up to which scoring every passage is as quick
            as finding candidates first.
        scan_phrases: phrases up to which a scan is left to the server.
    """

    lang: str
    exhaustive_pieces: int
    scan_phrases: int

    def best_span(self, vectors: FloatArray, query: Query, weights: Weights) -> Script:
        """The script that scores a passage by its best span for any of the vectors.

        The score is 1 + the weighted sum, or 0 if no span reaches the threshold.
        """
        parts = {"cosine_weight": weights.cosine, "bm25_weight": weights.bm25}
        return self._script("best_span", vectors, query, {"threshold": weights.threshold, **parts})

    def place_span(self, vector: FloatArray, query: Query) -> Script:
        """The script that returns the best span's cosine, start, end and number of words."""
        return self._script("place_span", vector[None], query, {})

    def _script(
        self, name: str, vectors: FloatArray, query: Query, more: Mapping[str, float]
    ) -> Script:
        source = _painless(name) if self.lang == "painless" else name
        words = {"min_words": query.min_words, "max_words": query.max_words}
        params = {"vectors": vectors.tolist(), **words, **more}
        return {"lang": self.lang, "source": source, "params": params}


# benchmarks/server_search.py and benchmarks/mine_phrases.py measure what these are chosen by.
PAINLESS = ScriptEngine("painless", exhaustive_pieces=100_000, scan_phrases=40)
NATIVE = ScriptEngine("slice_os", exhaustive_pieces=250_000, scan_phrases=200)


def best_engine(plugins: Iterable[Mapping[str, Any]]) -> ScriptEngine:
    """The fastest engine that all nodes have, by the answer of ``_cat/plugins?format=json``."""
    there = [(plugin["name"], PLUGIN in plugin["component"]) for plugin in plugins]
    native = {name for name, is_native in there if is_native}
    return NATIVE if native and native == {name for name, _ in there} else PAINLESS


@cache
def _painless(name: str) -> str:
    folder = files(__package__) / "scripts"
    return "".join((folder / f"{part}.painless").read_text() for part in ("span_scores", name))

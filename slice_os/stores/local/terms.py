"""BM25 in the local store, with the terms and the formula of Lucene's English analyser.

So a passage has the same BM25 here as in an OpenSearch index with default options.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import regex

from slice_os.arrays import FloatArray, IntArray
from slice_os.text.documents import Metadata
from slice_os.text.passage_layout import layout_of
from slice_os.text.words import INVISIBLE
from slice_os.threads import checkpoint

K1 = 1.2
B = 0.75
COARSE_FROM = 24
# Deleted with its parts when the terms are stored from scratch.
PASSAGE_TERMS = """CREATE VIRTUAL TABLE passage_terms USING fts5 (
    text, tokenize = 'porter ascii tokenchars _'
)"""
# Views of where terms stand, and a text whose terms FTS5 stems.
_OCCURRENCES = (
    "CREATE VIRTUAL TABLE temp.occurrences USING fts5vocab (main, passage_terms, instance)",
    PASSAGE_TERMS.replace("passage_terms", "temp.phrase"),
    "CREATE VIRTUAL TABLE temp.stems USING fts5vocab (temp, phrase, instance)",
)
# Lucene's English stop words; all other words are stemmed, here by FTS5.
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their "  # noqa: SIM905
    "then there these they this to was will with".split()
)
# Approximately the words of Unicode's UAX #29, by which Lucene splits text: joiners keep letters
# or digits together ("o'neill", "3,000", "b.org"), a hyphen does not; a pictograph, as of a
# trademark, is a word. Signs of Chinese and Hiragana are words each; Katakana, and the scripts of
# Southeast Asia, which have no spaces, are words apart from letters and digits beside them.
_LETTER = r"[\p{L}--[\p{Han}\p{Hiragana}\p{WB=Katakana}\p{LB=SA}]]"
_RUN = rf"[{_LETTER}\p{{M}}\p{{Nd}}_]+"
_PICTOGRAPH = r"\p{Extended_Pictographic}[\p{Emoji_Modifier}\uFE0F]?"
_TERM = regex.compile(
    rf"""
      [\p{{Han}}\p{{Hiragana}}]\p{{M}}*
    | \p{{WB=Katakana}}[\p{{WB=Katakana}}\p{{WB=Extend}}]* | \p{{LB=SA}}+
    | {_PICTOGRAPH} | \p{{Regional_Indicator}}{{2}} | [#*]\uFE0F\u20E3
    | (?<!_) (?=_*[{_LETTER}\p{{Nd}}]) {_RUN}
      (?: (?: (?<=\p{{L}})['’.:·](?=\p{{L}}) | (?<=\p{{Nd}})['’.,;](?=\p{{Nd}}) ) {_RUN} )*
    """,
    regex.VERBOSE | regex.VERSION1,
)
_POSSESSIVE = regex.compile(r"['’]s$")
# An ending that FTS5, unlike Lucene, leaves where it stands alone, as in "part(ies)".
_STEMS = {"ies": "i"}
_JOINER = regex.compile(r"['’.:·,;]")
_INVISIBLE = regex.compile(rf"[{INVISIBLE}]+")


def terms(text: str) -> list[str]:
    """The terms of a text in order, not yet stemmed; only letters, digits and ``_``."""
    found = _TERM.findall(_INVISIBLE.sub("", text))
    words = (_POSSESSIVE.sub("", word.replace("İ", "i").lower()) for word in found)
    return [_STEMS.get(word, _JOINER.sub("_", word)) for word in words if word not in STOP_WORDS]


def passage_terms(text: str, metadata: Metadata, start: int) -> list[str]:
    """The terms of a passage as it reads, so that a word over two lines is one.

    Args:
        text: of the passage.
        metadata: with its layout.
        start: its first code point in the document.
    """
    return terms(layout_of(metadata, start).reading(text).text)


def add_terms(connection: sqlite3.Connection, passage: int, found: Sequence[str]) -> None:
    """Store the terms of a passage."""
    connection.execute(
        "INSERT INTO passage_terms (rowid, text) VALUES (?, ?)", (passage, " ".join(found))
    )


def prepare(connection: sqlite3.Connection) -> None:
    """Let `occurrences` read from a connection; not in a transaction, which could undo it."""
    connection.execute("PRAGMA temp_store = MEMORY")
    for statement in _OCCURRENCES:
        connection.execute(statement)


def occurrences(
    connection: sqlite3.Connection, phrase: str
) -> Iterator[tuple[str, int, IntArray, IntArray]]:
    """Each stemmed term of a phrase that occurs, how often the phrase has it, and its passages.

    These are their ids, ascending, and how often each of them has it. The connection has to be
    in a transaction, after `prepare`.
    """
    text = " ".join(terms(phrase))
    connection.execute("REPLACE INTO temp.phrase (rowid, text) VALUES (1, ?)", (text,))
    stems = connection.execute("SELECT term FROM temp.stems ORDER BY offset")
    for (stem,), times in Counter(stems).items():
        checkpoint()
        rows = connection.execute("SELECT doc FROM temp.occurrences WHERE term = ?", (stem,))
        passages = np.fromiter((row for (row,) in rows), dtype=np.int64)
        if len(passages):
            yield stem, times, *np.unique(passages, return_counts=True)


def bm25(frequencies: IntArray, rows: IntArray, lengths: IntArray) -> FloatArray:
    """BM25 of one term, as Lucene's ``BM25Similarity`` computes it.

    Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework", equation 3.15,
    without its constant factor k1 + 1, and with lengths as coarse as Lucene stores them.

    Args:
        frequencies: ``(n,)`` occurrences of the term, in all passages with the term.
        rows: ``(n,)`` rows of these passages.
        lengths: ``(n_passages,)`` number of terms in each passage.
    """
    found, with_terms = len(frequencies), int(np.count_nonzero(lengths))
    idf = np.log1p((with_terms - found + 0.5) / (found + 0.5))
    norms = K1 * (1 - B + B * coarse(lengths[rows]) / (lengths.sum() / with_terms))
    scores: FloatArray = (idf * frequencies / (frequencies + norms)).astype(np.float32)
    return scores


def coarse(lengths: IntArray) -> IntArray:
    """Lengths as Lucene stores them in one byte: exact below 40, then four bits of precision."""
    rest = np.maximum(lengths - COARSE_FROM, 0)
    bits = np.frexp(rest.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - 4, 0)
    return np.where(rest > 0, COARSE_FROM + ((rest >> shift) << shift), lengths)

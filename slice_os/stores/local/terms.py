"""What passages are found by besides their vectors: the terms of BM25."""

from __future__ import annotations

from slice_os.words import find_words


def searchable(text: str) -> str:
    """The words of a text, one space between two, so that BM25 and spans agree on words."""
    return " ".join(text[start:end] for start, end in find_words(text).tolist())


def any_term(phrase: str) -> str:
    """The FTS5 query for passages with any of the words of a phrase."""
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(searchable(phrase).split(" ")))

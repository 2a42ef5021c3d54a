"""Places in a document: which turn, sentence or word a hit is in, and when it is said."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol

from slice_os.hits.hit import Hit
from slice_os.search.around import Turn
from slice_os.text.documents import Metadata
from slice_os.text.languages import shown_language
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words
from slice_os.topics.combination import SECONDS, SENTENCES, TURNS, WORDS, Part

_AT_ONCE = 64


class Documents(Protocol):
    """Texts that are searched for matches, such as a `Corpus`."""

    def __iter__(self) -> Iterator[str]:
        """Their ids."""

    def text(self, doc_id: str) -> str:
        """The text of a document."""

    def turns_of(self, doc_ids: Sequence[str]) -> Mapping[str, Sequence[Turn]]:
        """The turns of several documents, by position."""

    def metadata(self, doc_id: str) -> Metadata:
        """The metadata of a document."""


class Places:
    """The places in each document; where turns are needed, those of many documents are read."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._known: dict[str, DocumentPlaces] = {}
        self._turns: dict[str, Sequence[Turn]] = {}
        self._ahead: list[str] = []

    def expect(self, doc_ids: Sequence[str]) -> None:
        """Say which documents will be asked for, in order."""
        self._ahead = [doc_id for doc_id in doc_ids if doc_id not in self._turns]

    def __call__(self, doc_id: str) -> DocumentPlaces:
        """The places in a document."""
        if doc_id not in self._known:
            text = partial(self._documents.text, doc_id)
            self._known[doc_id] = DocumentPlaces(text, partial(self._turns_of, doc_id))
        return self._known[doc_id]

    def _turns_of(self, doc_id: str) -> Sequence[Turn]:
        if doc_id not in self._turns:
            at = self._ahead.index(doc_id)
            self._turns.update(self._documents.turns_of(self._ahead[at : at + _AT_ONCE]))
            del self._ahead[at : at + _AT_ONCE]
        return self._turns[doc_id]


class DocumentPlaces:
    """The turns, sentences and words of a document, found when they are first asked for.

    Args:
        text: returns that of the document.
        turns: returns its turns, by position; none if it is no conversation.
    """

    def __init__(self, text: Callable[[], str], turns: Callable[[], Sequence[Turn]]) -> None:
        self._text = text
        self._read_turns = turns
        self._found: dict[str, list[int]] = {}

    @cached_property
    def turns(self) -> Sequence[Turn]:
        """Its turns."""
        return self._read_turns()

    def admits(self, part: Part, hit: Hit) -> bool:
        """Whether a hit is said by whom, and where in the document, a part wants it."""
        if part.speaker and part.speaker.casefold() != str(hit.metadata.get("speaker")).casefold():
            return False
        if part.asked is not None and part.asked != is_question(hit):
            return False
        if part.first and not self._from_start(hit, part.first.measure) < part.first.amount:
            return False
        return not part.last or self._from_end(hit, part.last.measure) < part.last.amount

    def distance(self, one: Hit, other: Hit, measure: str) -> float:
        """The distance of two hits: 0 in one turn or sentence, or in adjacent words.

        It is infinite where the document has no turns, or no times.
        """
        first, second = sorted((one, other), key=lambda hit: (hit.start, hit.end))
        if measure == WORDS:
            between = self._number(second.start, WORDS) - self._number(first.end - 1, WORDS) - 1
            return max(0.0, between)
        # Who speaks at the same time may come later in the text.
        apart = abs(self._from_start(second, measure) - self._from_start(first, measure))
        return apart if apart >= 0 else float("inf")  # neither is known

    def _from_start(self, hit: Hit, measure: str) -> float:
        """The length of the document before a hit: seconds, or whole turns and so on."""
        if measure == SECONDS:
            return _time(hit.metadata.get("start_time"))
        return self._number(hit.start, measure)

    def _from_end(self, hit: Hit, measure: str) -> float:
        if measure == SECONDS:
            times = [turn.start_time for turn in self.turns if turn.start_time is not None]
            return max(times, default=float("nan")) - self._from_start(hit, SECONDS)
        return len(self._begins(measure)) - 1 - self._number(hit.end - 1, measure)

    def turn_of(self, hit: Hit) -> int:
        """The number of the turn of a hit, from 0; -1 if there is none."""
        return bisect_right(self._begins(TURNS), hit.start) - 1

    def _number(self, place: int, measure: str) -> float:
        number = bisect_right(self._begins(measure), place) - 1
        return number if number >= 0 else float("nan")

    def _begins(self, measure: str) -> list[int]:
        """The begins of turns, sentences or words."""
        if measure not in self._found:
            if measure == TURNS:
                found = [turn.start for turn in self.turns]
            elif measure == SENTENCES:
                text = self._text()
                ends = sentence_ends(text, shown_language(text))
                found = sorted({0, *ends[:-1], *self._begins(TURNS)})
            else:
                found = find_words(self._text())[:, 0].tolist()
            self._found[measure] = found
        return self._found[measure]


def is_question(hit: Hit) -> bool:
    """Whether the sentence of a hit ends with a question mark."""
    own = hit.sentence or hit
    text = hit.passage.text[: max(0, own.end - hit.passage.start)]
    return text.rstrip(" \t\r\n\"'”’)").endswith(("?", "？"))


def _time(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else float("nan")

"""The whole clause around some words of a sentence: who does what, to what, and whether not.

Rules find the words before which a clause can begin and those before which one can end. They
know English function words and some verbs, from ``clause_words.txt``. A comma, "and" or "or" is a
border only if another subject and verb, or another verb, follow; so items of a list stay together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from slice_os.text.clause_words import (
    COORDINATORS,
    NOMINATIVES,
    OPEN,
    PREPOSITIONS,
    QUESTIONS,
    RELATIVES,
    SUBORDINATORS,
    WORDS,
    Meaning,
    denies,
    interrupts,
    plain,
    takes_object,
    verbs,
)  # fmt: skip

_LEADING = PREPOSITIONS | SUBORDINATORS | {"notwithstanding", "subject"}
# Before these, a clause is whole after a comma.
_ADDED = WORDS["additions"] | RELATIVES | SUBORDINATORS
_JOINING = PREPOSITIONS | COORDINATORS
_REFERRING = OPEN | WORDS["references"]
_NO_QUESTION = OPEN | QUESTIONS | NOMINATIVES
_ASKING = QUESTIONS | {"which", "whose"}
_BE = {"be", "been", "being"}
_STRONG = re.compile(r"[;:!?。！？•|]|\n\s*\n")
_STOP = re.compile(r"[)\]\"'”’]*[.?!][)\]\"'”’]*\s")
_NO_ABBREVIATION = 5
_ITEM = re.compile(r"[a-z]|[ivx]{1,5}|\d{1,2}")
_SECTION = re.compile(r"\d+(?:\.\d+)+")

# A score of `slice_os.text.clause_borders` that marks a border without punctuation.
_UNMARKED = 2.5
# The verb of a subject is at most so many words behind it.
_REACH = 13


class Sentence:
    """The words of a sentence, or of several, and the borders of their clauses.

    Args:
        words: as they are written.
        gaps: what stands before each word, and after the last.
        scores: of the borders before each word, and after the last; see `clause_borders`.
        numbers: of the sentence that each word is in.
    """

    def __init__(
        self,
        words: Sequence[str],
        gaps: Sequence[str],
        scores: Sequence[float],
        numbers: Sequence[int],
    ) -> None:
        self._words, self._gaps, self._scores, self._numbers = words, gaps, scores, numbers
        self._names = [plain(word) for word in words]
        self._verb = verbs(self._names)
        self._comma = ["," in gap for gap in gaps]
        self._strong = self._strong_borders()
        self._starts, self._ends = self._clause_borders()

    def clause(self, first: int, end: int, meaning: Meaning) -> tuple[int, int]:
        """The clause around the words ``first:end``, and more if it lacks what a phrase has."""
        begin = first if self._begins_itself(first, end) else self._start(first)
        names, stop, end = self._names, end, self._end(end)
        if names[begin] in PREPOSITIONS and self._subject_at(end):
            end = self._end(end + 1)  # "In case of a dispute, the parties agree"
        undenied = meaning.denied and not denies(names[begin:end])
        hangs = names[begin] == "unless" or (undenied and names[begin] in SUBORDINATORS)
        if hangs or not any(self._verb[begin:end]):
            begin = self._before(begin)
        if meaning.conditions.isdisjoint(names[begin:end]):
            if end < len(names) and names[end] in meaning.conditions:
                end = self._end(end + 1)
            elif names[before := self._before(begin)] in meaning.conditions:
                begin = before
        return begin, self._closed(stop, end)

    def _start(self, at: int) -> int:
        while not self._starts[at]:
            at -= 1
        return at

    def _end(self, at: int) -> int:
        while not self._ends[at]:
            at += 1
        return at

    def _subject_at(self, end: int) -> bool:
        """Whether a clause begins behind a comma."""
        names = self._names
        after = end < len(names) and self._comma[end] and self._starts[end]
        return after and names[end] not in COORDINATORS

    def _closed(self, stop: int, end: int) -> int:
        """An end at which nothing has to follow, where a text breaks off."""
        names = self._names
        if end == stop or names[end - 1] not in OPEN:
            return end
        whole = [
            at
            for at in range(stop, end)
            if (self._comma[at] or names[at] in COORDINATORS) and names[at - 1] not in OPEN
        ]
        return whole[-1] if whole else end

    def _before(self, begin: int) -> int:
        """The begin of the clause before one; that of the one itself, if the other has no verb."""
        at = begin
        while at and (at == begin or not self._starts[at] or begin - at == 1):
            at -= 1
        return at if any(self._verb[at:begin]) else begin

    def _begins_itself(self, first: int, end: int) -> bool:
        """Whether words have a subject and its verb, and nothing before them belongs to these."""
        if first and (
            self._scores[first] < 0
            or self._comma[first]
            or self._verb[first - 1]
            or self._names[first - 1] in NOMINATIVES
            or self._is_asked(self._start(first), first)
        ):
            return False
        return any(self._verb[first:end]) and self._clause_follows(first)

    def _strong_borders(self) -> list[bool]:
        """Before which words a part begins, by punctuation or the number of an item."""
        names, gaps, size = self._names, self._gaps, len(self._names)
        found = [at in (0, size) for at in range(size + 1)]
        for at in range(1, size):
            found[at] = self._numbers[at] != self._numbers[at - 1]
            if gaps[at] != " ":  # most are, and searches take long
                strong = bool(_STRONG.search(gaps[at])) and names[at - 1] not in OPEN
                found[at] |= strong or self._stopped(at)
        for at in range(size - 1):
            closes = gaps[at + 1].startswith((".", ")"))
            if closes and self._bracketed_number(at):
                found[at] = found[at + 1] = True
                if at and names[at - 1] in COORDINATORS:
                    found[at - 1] = True
            elif closes and _ITEM.fullmatch(names[at]):
                found[at + 1] |= found[at] or "." in gaps[at]
            elif (
                "." in names[at]
                and _SECTION.fullmatch(names[at])
                and self._words[at + 1][:1].isupper()
                and not (at and names[at - 1] in _REFERRING)
            ):
                found[at] = found[at + 1] = True
        return found

    def _stopped(self, at: int) -> bool:
        """Whether a full stop, missed so far, stands before a capital or the number of an item."""
        if not _STOP.match(self._gaps[at]):
            return False
        number = self._gaps[at + 1].startswith(".") or at + 1 == len(self._names)
        if number and _ITEM.fullmatch(self._names[at]):
            return True
        return self._words[at][:1].isupper() and len(self._names[at - 1]) >= _NO_ABBREVIATION

    def _bracketed_number(self, at: int) -> bool:
        """Whether a word is the number of an item, as "(a)", but not part of a reference."""
        names, gaps = self._names, self._gaps
        if not (gaps[at + 1].startswith(")") and _ITEM.fullmatch(names[at])):
            return False
        if not re.search(r"(?:^|\s)\($", gaps[at]) or self._comma[at + 1]:
            return False
        before = names[at - 1] if at else ""
        if names[at].isdigit() and at and not _STRONG.search(gaps[at]) and not self._comma[at]:
            return before in COORDINATORS
        if names[at + 1] in _JOINING:
            return False
        return before in COORDINATORS or before not in OPEN

    def _clause_borders(self) -> tuple[list[bool], list[bool]]:
        """Before which words a clause can begin, and before which one can end."""
        names, comma, verb = self._names, self._comma, self._verb
        starts, ends = self._strong.copy(), self._strong.copy()
        # Whether the clause has a verb so far, and has one since the last comma or "that"; how
        # many brackets are open; the first word of the clause.
        said, near, depth, part = False, False, 0, 0
        for at in range(1, len(names)):
            if self._strong[at]:
                starts[at + 1] |= names[at] in COORDINATORS
                said, near, depth, part = False, False, 0, at
                continue
            if (gap := self._gaps[at]) != " ":
                depth = max(0, depth + gap.count("(") - gap.count(")"))
            said = said or verb[at - 1]
            near = (near or verb[at - 1] or names[at - 1] in _BE) and names[at - 1] != "that"
            if depth:
                continue
            begins, stops = self._border(at, said, near, part)
            near = near and not comma[at]
            joined = verb[at - 1] and names[at] in NOMINATIVES
            starts[at] |= begins and not joined
            starts[at + 1] |= begins and names[at] in COORDINATORS
            ends[at] |= stops and said and names[at - 1] not in OPEN
            if begins:
                said, near, part = self._requests(at), False, at
        return starts, ends

    def _border(self, at: int, said: bool, near: bool, part: int) -> tuple[bool, bool]:
        """Whether a clause begins, and one can end, before a word; see `_clause_borders`."""
        name, comma = self._names[at], self._comma[at]
        if name in COORDINATORS:
            begins = (said if comma else near) and self._clause_follows(at + 1)
            return begins, begins or self._verb_follows(at, comma)
        if name in SUBORDINATORS and (name != "provided" or comma):
            begins = self._clause_follows(at + 1)
            if name == "so":
                follows = self._names[at + 1 : at + 2]
                begins = begins and (follows == ["please"] or not NOMINATIVES.isdisjoint(follows))
                return begins, begins or comma
            return begins, comma or name in WORDS["conditions"]
        if comma:
            subject = name in NOMINATIVES or near or self._names[part] in _LEADING
            begins = subject and self._clause_follows(at)
            return begins, begins or name in _ADDED
        if not self._gaps[at].strip() and (self._scores[at] >= _UNMARKED or self._asks(at, part)):
            begins = self._clause_follows(at)
            return begins, begins
        return False, False

    def _asks(self, at: int, part: int) -> bool:
        """Whether a question begins without punctuation, as "can you", in a chat."""
        names = self._names
        return (
            self._verb[at]
            and names[at + 1 : at + 2] in (["i"], ["you"], ["we"])
            and names[at - 1] not in _NO_QUESTION
            and names[part] not in _LEADING
            and not self._is_asked(part, at)
        )

    def _is_asked(self, part: int, at: int) -> bool:
        """Whether a word goes on with a question, as "which room do"."""
        return self._names[part] in _ASKING and not any(self._verb[part:at])

    def _requests(self, at: int) -> bool:
        """Whether a request begins, as "please" or "send me"."""
        names = self._names
        asked = names[at + 1 : at + 2] in (["my"], ["me"], ["our"], ["us"])
        return "please" in names[at : at + 2] or (asked and takes_object(names[at : at + 2]))

    def _clause_follows(self, at: int) -> bool:
        """Whether a word is the first of a subject and its verb, or of a question or request."""
        names, verb = self._names, self._verb
        if at >= len(names) - 1 or names[at] in _JOINING:
            return False
        if self._requests(at):
            return not self._strong[at + 1]
        if names[at] in QUESTIONS:
            return verb[at + 1]
        if verb[at]:
            return "'" in names[at] or names[at + 1] in NOMINATIVES
        gerund = names[at].endswith("ing") and not names[at].endswith("thing")
        return not gerund and not interrupts(names[at]) and self._verb_ahead(at)

    def _verb_ahead(self, at: int) -> bool:
        """Whether a verb comes before the next comma, conjunction or strong border."""
        for ahead in range(at + 1, min(len(self._names), at + _REACH + 1)):
            name = self._names[ahead]
            if self._strong[ahead] or self._comma[ahead]:
                return False
            if interrupts(name) and name not in COORDINATORS:
                return False
            if self._verb[ahead]:
                return self._names[ahead - 1] not in COORDINATORS
        return False

    def _verb_follows(self, at: int, comma: bool) -> bool:
        """Whether another verb of the same subject follows a conjunction, or another condition."""
        names, verb, size = self._names, self._verb, len(self._names)
        if verb[at - 1]:
            return False
        before = names[at - 2] if at > 1 else ""  # "shall host and maintain", "to host and"
        bare = at > 1 and (verb[at - 2] or self._comma[at - 1] or before == "to")
        at += 1
        while at < size - 1 and (names[at] in ("also", "not") or names[at].endswith("ly")):
            at += 1
        if at >= size:
            return False
        if verb[at] or names[at] in SUBORDINATORS:
            return True
        if names[at] in PREPOSITIONS:  # ", and in no event shall"
            return comma and self._verb_ahead(at)
        return not bare and (
            self._takes_object(at)
            or (names[at + 1 : at + 2] == ["and"] and self._takes_object(at + 2))
        )

    def _takes_object(self, at: int) -> bool:
        return takes_object(self._names[at : at + 2]) and not self._comma[at + 1]

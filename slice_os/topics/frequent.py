"""Sentences that many documents have in the same words: what could be searched for first."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words

LEAST_WORDS, MOST_WORDS = 4, 14
_LEAST_DOCUMENTS = 2
_LEAST_OWN = 2
_MOST = 6
# A word that so many documents have says little about any of them.
_COMMON = 0.4
# What is before the words: signs of a quotation, a time, a speaker.
_BEFORE = re.compile(r"^(?:>\s*)*(?:\[?[\d:.]+\]?\s+)?(?:[^\W\d]\w*(?: \d+)?:\s+)?")
# Function words, and courtesies.
_PLAIN = frozenset(
    "a about all am an and any anything are as at be been but by bye can could day did do does "  # noqa: SIM905
    "else enjoy evening for from glad good goodbye great had has have hello help hey hi how i i'd "
    "i'll i'm i've if in is it its just like me morning much my need nice no not of ok okay on "
    "one or our perfect please pleasure rest right should so sorry sounds sure thank thanks that "
    "that's the their them then there these they this to very wait want was we welcome well were "
    "what what's when where which who will with wonderful would yeah yes you you're your".split()
)


def frequent_sentences(texts: Iterable[str]) -> list[str]:
    """The six sentences that most texts have, with the most words of their own, the best first.

    A sentence has 4 to 14 words, without numbers and names, and occurs in two texts or more,
    whatever its case and punctuation; no two that are returned share a word of their own.
    """
    shown: dict[tuple[str, ...], str] = {}
    texts_with: dict[tuple[str, ...], int] = defaultdict(int)
    words_in: Counter[str] = Counter()
    small = set(_PLAIN)
    n_texts = 0
    for text in texts:
        n_texts += 1
        found = dict(_sentences(text))
        small.update(word for sentence in found.values() for word in _words(sentence))
        words_in.update({word for words in found for word in words})
        for words, sentence in found.items():
            if LEAST_WORDS <= len(words) <= MOST_WORDS:
                shown.setdefault(words, sentence)
                texts_with[words] += 1

    def own(words: tuple[str, ...]) -> frozenset[str]:
        told = (word for word in words if word not in _PLAIN and word.isalpha())
        return frozenset(word for word in told if words_in[word] <= _COMMON * max(n_texts, 10))

    def is_plain(sentence: str) -> bool:
        named = (
            word[0].isupper() and word.casefold() not in small for word in _words(sentence)[1:]
        )
        return not any(sign.isdigit() for sign in sentence) and not any(named)

    frequent = [words for words, n in texts_with.items() if n >= _LEAST_DOCUMENTS]
    repeated = {words: own(words) for words in frequent if is_plain(shown[words])}
    ranked = sorted(repeated, key=lambda words: (-texts_with[words] * len(repeated[words]), words))
    chosen: list[str] = []
    taken: set[str] = set()
    for words in ranked:
        if len(repeated[words]) >= _LEAST_OWN and taken.isdisjoint(repeated[words]):
            taken |= repeated[words]
            chosen.append(shown[words])
        if len(chosen) == _MOST:
            break
    return chosen


def _sentences(text: str) -> Iterable[tuple[tuple[str, ...], str]]:
    start = 0
    for end in sentence_ends(text):
        sentence = _BEFORE.sub("", text[start:end].strip())
        start = end
        if "\n" in sentence:  # wrapped, or two turns
            continue
        yield tuple(word.casefold() for word in _words(sentence)), sentence


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in find_words(text).tolist()]

"""The language of a text: what it is told to be, or what its words show it to be.

Rules and probabilities were made for English. A text counts as English unless it is long enough
and has many function words of another language, of several kinds, or is in another script; names
and quotations in an English text do not make it foreign.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from slice_os.text.documents import ENGLISH, Document

UNKNOWN = "und"
"""The ISO 639 code of a language that is not known: of texts in other scripts than the Latin."""

_SAMPLE = 20_000
_FEW_WORDS, _FEW_LETTERS, _FEW_KINDS = 20, 40, 5
# Shares of function words in running text are .3 to .5; in English, those of others are below .03.
_SHARE, _TIMES_ENGLISH = 0.15, 3
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_OTHER_LETTER = regex.compile(r"[\p{L}--\p{Latin}]", regex.VERSION1)

# Without words that are frequent in another of these languages only by chance, as "in" and "die".
_FUNCTION_WORDS = {
    ENGLISH: "the and of to that it for you with are be have this from by not but what which "
    "their will would they has been your can there when if our my is at we he she his i any shall",
    "de": "der und das den dem ein eine einen einer nicht mit ist von zu sich auf für auch bei "
    "oder aus nach wird sind werden ich sie wir es als wenn nur noch über durch zum zur kann haben",
    "es": "de la que el los las y en del se por con una para es lo como su al más pero sus le ya "
    "este sí porque esta entre cuando muy sin sobre también hasta hay no está qué mi usted",
    "fr": "le la les de des et du un une est que qui dans en pour pas au ce il sur se par plus ne "
    "avec sont vous nous je mais ou où cette aux été sa être avoir leur ses votre",
    "it": "di che la il un una per non è del si da sono con le della dei nel alla gli al ma come "
    "anche più ha lo delle io mi questo questa quando degli suo sua ho vostro",
    "nl": "de het een en van dat niet zijn met voor te ik op aan er maar om ook als bij dan nog "
    "naar heeft uit wordt deze door worden hebben kan wij uw dit mijn over",
    "pl": "się nie na że jest z przez od po jak dla ale za lub oraz tym jego są być który może ja "
    "tego która już tylko czy mnie proszę jestem ich",
    "pt": "de que e o da do em um para é com não uma os no se na por mais as dos como mas foi ao "
    "ele das tem à seu sua ou ser quando muito nos já está eu também pelo pela",
    "sv": "och att det som en på är av för med den till inte om ett han men var jag sig från så "
    "kan när vi eller vill hade ska också vara har efter din mitt",
}
_KNOWN = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
FUNCTION_WORDS = frozenset[str]().union(*_KNOWN.values())
"""Frequent words without a meaning of their own, of all languages that are told apart."""


def language_of(document: Document) -> str:
    """The language that a document is told to be in, or else the one that its beginning shows."""
    return document.language or shown_language(document.text)


def shown_language(text: str) -> str:
    """The language that the words at the beginning of a text show it to be in."""
    return _shown(text[:_SAMPLE])


@lru_cache(maxsize=8)
def _shown(text: str) -> str:
    """The language of a text; English unless another one is clear."""
    words = _WORD.findall(text.lower())
    letters = sum(map(len, words))
    others = len(_OTHER_LETTER.findall(text))
    if letters >= _FEW_LETTERS and 2 * others > letters:
        return UNKNOWN
    if len(words) < _FEW_WORDS:
        return ENGLISH
    counts = {language: sum(map(known.__contains__, words)) for language, known in _KNOWN.items()}
    best = max(counts, key=lambda language: counts[language])
    clear = counts[best] >= max(_SHARE * len(words), _TIMES_ENGLISH * counts[ENGLISH])
    kinds = len(_KNOWN[best].intersection(words))
    return best if clear and kinds >= _FEW_KINDS else ENGLISH

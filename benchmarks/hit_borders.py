"""Check the edges of hits: whole clauses, turns crossed, and words of the next clause.

    python benchmarks/hit_borders.py DATA --out benchmarks/results/hit_borders.json
    python benchmarks/hit_borders.py DATA --tune      # other dialogues and contracts, over settings

Natural phrases are searched for in MultiDoGO's dialogues (20 phrases, ten hits each) and in CUAD's
contracts (10 phrases). A hit ends badly if its last word is a preposition, article, conjunction,
auxiliary or possessive and its clause goes on after it; it begins badly if its first word closes
the clause before it, such as an object pronoun or the particle of a verb. Where there is
punctuation, or the border of a sentence or turn, a clause ends. A hit lacks a verb, or a denial, if
phrase and sentence have one and it has none; it is open if a bracket in it is. Every hit is listed,
for a reader to judge. What a reader said of others, some of them spans and some the clauses around
the same spans, mixed, stands beside the counts as ``hit_borders_read.json``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit
from slice_os.spans import choice as span_choice
from slice_os.text.clause_borders import PUNCTUATION
from slice_os.text.clause_words import is_clause, meaning_of
from slice_os.text.documents import Document, Segment
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words

PREPOSITIONS = (
    "about above across after against along among around as at before behind below beneath beside "
    "besides between beyond by concerning despite during except for from in including into like of "
    "off on onto over per regarding since than through throughout to toward towards under until "
    "unto upon via with within without"
)
ARTICLES = "a an the this these those every each any some no such"
DENIAL = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|cannot|without)\b|n['’]t\b", re.IGNORECASE
)
CONJUNCTIONS = "and or but nor so because if when while whereas although though unless that which"
PRONOUNS = "who whom whose where how what why whether i we he she they"
AUXILIARIES = (
    "am is are was were be been being do does did have has had having can could will would shall "
    "should may might must i'm i'd i'll i've we're we'd you're it's don't doesn't can't won't not"
)
POSSESSIVES = "my your his her its our their"
OPENERS = frozenset(
    " ".join((PREPOSITIONS, ARTICLES, CONJUNCTIONS, PRONOUNS, AUXILIARIES, POSSESSIVES)).split()
)
CLOSERS_LIST = "me him them us too either anyway ago up out off back away again"
CLOSERS = frozenset(CLOSERS_LIST.split())

DIALOGUE_PHRASES = (
    "I want to cancel my order",
    "I forgot my password",
    "I want to talk to a real person",
    "I don't have my account number",
    "my internet connection is very slow",
    "I am very unhappy with your service",
    "I lost my credit card",
    "how much does it cost",
    "I would like to change my seat",
    "please send me the boarding pass",
    "I will leave for another provider",
    "the price is too high",
    "what is the status of my claim",
    "I need to report a stolen card",
    "can you deliver it to my home address",
    "thank you for your help",
    "I want to upgrade my plan",
    "there is an error when I open the app",
    "I was charged twice",
    "I want my money back",
)
CONTRACT_PHRASES = (
    "either party may terminate this agreement on written notice",
    "the agreement may not be assigned without consent",
    "neither party is liable for indirect damages",
    "this agreement is governed by the laws of a state",
    "confidential information must be kept secret",
    "the licensor grants a non-exclusive license",
    "payment is due within thirty days of the invoice",
    "the supplier must keep insurance",
    "records may be audited",
    "the agreement renews automatically each year",
)
TUNING_DIALOGUE_PHRASES = (
    "I want to book a table",
    "find me a cheap hotel",
    "I need a flight to New York",
    "what is the phone number",
    "please play some music",
    "that does not work for me",
    "is there something else I can do",
    "I want to transfer money to my savings account",
    "how long is the ride",
    "I am looking for a doctor near me",
)
TUNING_CONTRACT_PHRASES = (
    "the agreement ends if a party goes bankrupt",
    "each party shall indemnify the other",
    "disputes are settled by arbitration",
    "no waiver is valid unless in writing",
    "the products are provided without warranty",
    "the parties are independent contractors",
)


def dialogues(data: Path) -> Iterator[Document]:
    """Every tenth of MultiDoGO's dialogues, so that all its domains occur; a segment a turn."""
    for line in islice(lines(data / "multidogo/turn_level.jsonl.gz"), 0, None, 10):
        yield spoken(line["id"], (("customer", turn["text"]) for turn in line["turns"]))


def tuning_dialogues(data: Path) -> Iterator[Document]:
    """Schema-guided dialogues; customers' turns only, so that turns of one speaker follow."""
    for line in lines(data / "sgd-dialogues/dev.jsonl.gz"):
        said = (turn["text"] for turn in line["turns"] if turn["speaker"] == "USER")
        yield spoken(line["id"], (("customer", text) for text in said))


def contracts(data: Path, split: str) -> Iterator[Document]:
    """CUAD's contracts of a split."""
    for line in lines(data / "cuad/cuad_spans.half.jsonl.gz"):
        if line["thirdparty_split"] == split:
            yield Document(line["title"], line["text"])


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def spoken(name: str, turns: Iterable[tuple[str, str]]) -> Document:
    """A document of turns, a line each; of each the speaker and the words."""
    text, segments = "", []
    for speaker, words in turns:
        if words.strip():
            start = len(text) + bool(text)
            text += f"\n{words}" if text else words
            segments.append(Segment(start, len(text), speaker))
    return Document(name, text, segments=tuple(segments))


def judged(hit: Hit) -> dict[str, Any]:
    """The rule's verdict on a hit, with the text that a reader needs to judge it."""
    text, start, end = hit.passage.text, hit.start - hit.passage.start, hit.end - hit.passage.start
    phrase = hit.phrase.lower()
    words = find_words(text)
    before = text[words[words[:, 1] <= start][-1, 1] if (words[:, 1] <= start).any() else 0 : start]
    after = text[end : words[words[:, 0] >= end][0, 0] if (words[:, 0] >= end).any() else None]
    spoken = hit.text.split()
    sentence = hit.sentence
    assert sentence is not None
    begin = max(0, sentence.start - hit.passage.start)
    around = text[begin : sentence.end - hit.passage.start]
    told, asked = is_clause(around), meaning_of(hit.phrase).verb
    goes_on = hit.end < sentence.end and not PUNCTUATION.search(after)
    went_on = hit.start > sentence.start and not PUNCTUATION.search(before)
    return {
        "phrase": hit.phrase,
        "text": hit.text,
        "cosine": round(hit.cosine, 3),
        "context": f"{text[max(0, start - 40) : start]}[[{hit.text}]]{text[end : end + 40]}",
        "ends_badly": goes_on and _plain(spoken[-1]) in OPENERS,
        "begins_badly": went_on and _plain(spoken[0]) in CLOSERS,
        "lacks_verb": told and asked and not is_clause(hit.text),
        "lacks_denial": all(map(DENIAL.search, (phrase, around))) and not DENIAL.search(hit.text),
        "open": hit.text.count("(") > hit.text.count(")"),
        # Every turn is on a line of its own.
        "crosses_turn": hit.turn is not None and "\n" in hit.text,
        "crosses_sentence": any(start < edge < end for edge in sentence_ends(text)),
    }


def _plain(word: str) -> str:
    return word.strip(".,;:?!\"'()").casefold().replace("’", "'")


def share(judgements: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Counts over hits."""
    found = list(judgements)
    faults = ("ends_badly", "begins_badly", "lacks_verb", "lacks_denial", "open")
    names = (*faults, "crosses_turn", "crosses_sentence")
    either = sum(any(one[name] for name in faults) for one in found)
    return {
        "hits": len(found),
        **{name: sum(one[name] for one in found) for name in names},
        "bad_share": round(either / max(len(found), 1), 3),
        "mean_cosine": round(fmean(one["cosine"] for one in found), 4),
        "mean_words": round(fmean(len(one["text"].split()) for one in found), 2),
    }


def hits_of(corpus: Corpus, phrases: Iterable[str], spans: bool = True) -> list[dict[str, Any]]:
    """Ten hits for each phrase, judged, or the spans that they were made of."""
    found = (hit for phrase in phrases for hit in corpus.search(phrase, top_k=10, order="score"))
    return [judged(span_of(hit) if spans else hit) for hit in found]


def span_of(hit: Hit) -> Hit:
    """The hit as wide as its span."""
    if hit.span is None:
        return hit
    start, end = hit.span.start, hit.span.end
    text = hit.passage.text[start - hit.passage.start : end - hit.passage.start]
    return replace(hit, start=start, end=end, text=text, span=None)


def main() -> None:
    """Measure, or compare settings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--dialogues", type=int, default=1_400)
    parser.add_argument("--contracts", type=int, default=6)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--stores", type=Path, help="Keep the stores here, for the next run.")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.tune:
        sets = {
            "dialogues": (tuning_dialogues(options.data), TUNING_DIALOGUE_PHRASES),
            "contracts": (contracts(options.data, "train"), TUNING_CONTRACT_PHRASES),
        }
    else:
        sets = {
            "dialogues": (dialogues(options.data), DIALOGUE_PHRASES),
            "contracts": (contracts(options.data, "test"), CONTRACT_PHRASES),
        }
    results: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for name, (documents, phrases) in sets.items():
            place = (options.stores or Path(folder)) / f"{name}{'-tuning' * options.tune}.slice"
            filled = place.exists()
            corpus = Corpus(place)
            if not filled:
                corpus.add(islice(documents, getattr(options, name)))
            print(name, len(corpus), flush=True)
            results[name] = compared(corpus, phrases) if options.tune else measured(corpus, phrases)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def measured(corpus: Corpus, phrases: Iterable[str]) -> dict[str, Any]:
    """Counts by cosine alone, at borders, and in whole clauses; and every hit."""
    listed = hits_of(corpus, phrases, spans=False)
    borders = share(hits_of(corpus, phrases))
    weights = span_choice.BORDER_WEIGHT, span_choice.SENTENCE_MARGIN
    span_choice.BORDER_WEIGHT, span_choice.SENTENCE_MARGIN = 0.0, 0.0
    alone = share(hits_of(corpus, phrases))
    span_choice.BORDER_WEIGHT, span_choice.SENTENCE_MARGIN = weights
    print("by cosine alone", alone)
    print("at borders     ", borders)
    print("whole clauses  ", share(listed))
    counts = {"by cosine alone": alone, "at borders": borders, "whole clauses": share(listed)}
    return {**counts, "hits": listed}


def compared(corpus: Corpus, phrases: Iterable[str]) -> list[dict[str, Any]]:
    """Counts for settings."""
    found = []
    for weight, margin, sentence in product((0.0, 0.015, 0.03, 0.045), (0.08, 0.16), (0.0, 0.1)):
        if (weight == 0) != (sentence == 0):
            continue
        span_choice.BORDER_WEIGHT, span_choice.BORDER_MARGIN = weight, margin
        span_choice.SENTENCE_MARGIN = sentence
        counts = {"weight": weight, "margin": margin, "sentence": sentence}
        counts |= share(hits_of(corpus, phrases))
        print(counts, flush=True)
        found.append(counts)
    return found


if __name__ == "__main__":
    main()

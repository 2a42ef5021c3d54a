"""Building contrast data: statements from every source, put into real text around."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from random import Random

import numpy as np

from slice_os.datasets.decontamination import Decontamination, read_hashes, sentence_hash
from slice_os.text.words import find_words
from slice_os.training.contrasts import sources
from slice_os.training.contrasts.contrast_rows import ContrastRow
from slice_os.training.contrasts.edits import EDITS, edited
from slice_os.training.contrasts.frames import Statement, made_statements
from slice_os.training.contrasts.lexicon import lexicon
from slice_os.training.examples.placement import place
from slice_os.training.examples.wordnet import read_synsets
from slice_os.training.record_types import Passage

HASHES = "evaluation-sentence-hashes.txt.gz"
# Of every hundred rows. Frames give what pairs of real sentences lack: few words in common.
SHARES = {
    "frames": 40,
    "tatoeba": 22,
    "snli": 10,
    "clinc150": 10,
    "bitext": 3,
    "sgd": 8,
    "cuad": 5,
    "contract-nli": 2,
}
_MOST_SENTENCES = 8_000
_CONTEXT_WORDS = range(6, 25)
_TRIMMED = 0.15
_WIDENED = 0.4
_SHORT = 14


def build_rows(folder: Path, count: int, seed: int) -> list[ContrastRow]:
    """About so many rows from a folder with the data sets under their names in the catalog.

    The same seed and data give the same rows. Raises an `InputError` if a file is missing or
    malformed.
    """
    hashes = read_hashes(folder / HASHES)
    verbs = known_verbs(folder)
    rng = Random(seed)  # noqa: S311
    turns = _some(sources.dialogue_turns(folder / "sgd-dialogues/train.jsonl.gz"), hashes, rng)
    cuad = folder / "cuad/cuad_spans.half.jsonl.gz"
    clauses = _some(sources.contract_sentences(cuad), hashes, rng)
    everyday = [turn for turn in turns if len(turn.split()) in _CONTEXT_WORDS]
    legal = [sentence for sentence in clauses if len(sentence.split()) in _CONTEXT_WORDS]
    pairs = sources.tatoeba_pairs(folder / "tatoeba-pivot-paraphrases/pairs.tsv.gz")
    snli = [folder / f"snli-dev-test/snli_{part}.tsv.gz" for part in ("dev", "test")]
    clinc = sources.clinc_intents(folder / "clinc150/data_full.json")
    bitext = sources.bitext_intents(folder / "bitext-support-intents/train.csv")
    contracts = sources.contract_statements(folder / "contract-nli/train_truncated.json.gz")
    made = {
        "frames": made_statements(count, rng),
        "tatoeba": _from_pairs(pairs, verbs, rng),
        "snli": _shuffled(chain.from_iterable(map(sources.snli_statements, snli)), rng),
        "clinc150": _from_intents(clinc, "clinc150", rng),
        "bitext": _from_intents(bitext, "bitext", rng),
        "sgd": _from_sentences(turns, "sgd", verbs, rng),
        "cuad": _from_sentences(clauses, "cuad", verbs, rng),
        "contract-nli": _shuffled(contracts, rng),
    }
    rows: list[ContrastRow] = []
    for source, share in SHARES.items():
        wanted = count * share // 100
        contexts = legal if source in ("cuad", "contract-nli") else everyday
        rows += _placed(_take(made[source], wanted, hashes), contexts, rng)
    return rows + list(_random_rows(rows, count // 12, rng))


def _some(sentences: Iterable[str], hashes: Decontamination, rng: Random) -> list[str]:
    """Different sentences at random that are not those of an evaluation."""
    different = list(islice(dict.fromkeys(sentences), _MOST_SENTENCES))
    rng.shuffle(different)
    return [one for one in different if sentence_hash(one) not in hashes.hashes]


def _take(
    statements: Iterable[Statement], count: int, hashes: Decontamination
) -> Iterator[Statement]:
    taken = 0
    for statement in statements:
        if taken >= count:
            return
        if not {sentence_hash(statement.phrase), sentence_hash(statement.wording)} & hashes.hashes:
            taken += 1
            yield statement


def known_verbs(folder: Path) -> frozenset[str]:
    """The verbs of WordNet that are one word."""
    synsets = read_synsets(folder / "open-english-wordnet/synsets.jsonl.gz")
    counts = Counter(word for one in synsets if one.pos == "v" for word in one.members)
    return frozenset(word for word, count in counts.items() if count > 1 and word.isalpha())


def _from_pairs(
    pairs: Iterable[tuple[str, str]], verbs: frozenset[str], rng: Random
) -> Iterator[Statement]:
    """Pairs that say the same, one of them edited, and both of them edited alike."""
    listed = list(pairs)
    rng.shuffle(listed)
    for first, second in listed * 3:
        if rng.random() < 0.5:
            first, second = second, first
        if _overlap(first, second) < 0.75:
            yield Statement(first, second, True, "paraphrase", "tatoeba")
        kinds = rng.sample(sorted(EDITS), len(EDITS))
        for kind in kinds[:3]:
            state = rng.random()
            changed = edited(kind, second, verbs, Random(state))  # noqa: S311
            if changed is None:
                continue
            yield Statement(first, changed[0], False, kind, "tatoeba")
            other = edited(kind, first, verbs, Random(state))  # noqa: S311
            if other is not None and rng.random() < 0.5:
                yield Statement(first, other[0], False, kind, "tatoeba")
            if other is not None and other[1] == changed[1]:
                yield Statement(other[0], changed[0], True, kind, "tatoeba")
                yield Statement(other[0], second, False, kind, "tatoeba")


def _from_sentences(
    sentences: Sequence[str], source: str, verbs: frozenset[str], rng: Random
) -> Iterator[Statement]:
    """Sentences against themselves, edited, or with changes that keep what they say."""
    for sentence in sentences:
        for kind in rng.sample(sorted(EDITS), len(EDITS))[:3]:
            changed = edited(kind, sentence, verbs, rng)
            if changed is None:
                continue
            kept = _kept(sentence, rng)
            phrase, wording = (kept, sentence) if rng.random() < 0.5 else (sentence, kept)
            yield Statement(phrase, wording, True, kind, source)
            yield Statement(phrase, changed[0], False, kind, source)


def _kept(sentence: str, rng: Random) -> str:
    """A sentence in nearly the same words that say the same."""
    light = lexicon().light
    for first, second in rng.sample(light, len(light)):
        for one, other in ((first, second), (second, first)):
            if f" {one} " in sentence and (one, other) != ("may not", "shall not"):
                return sentence.replace(f" {one} ", f" {other} ", 1)
    return sentence.rstrip(".") if rng.random() < 0.5 else sentence[:1].lower() + sentence[1:]


def _from_intents(intents: dict[str, list[str]], source: str, rng: Random) -> Iterator[Statement]:
    """Utterances of one intent, and the most similar ones of others."""
    names = sorted(intents)
    while True:
        name = rng.choice(names)
        phrase, same = rng.sample(intents[name], 2)
        yield Statement(phrase, same, True, "intent", source)
        drawn = [rng.choice(intents[one]) for one in rng.sample(names, len(names) // 2)]
        drawn = [text for text in drawn if text not in intents[name]]
        nearest = sorted(drawn, key=lambda text: (-_overlap(phrase, text), text))[:6]
        yield Statement(phrase, rng.choice(nearest), False, "near", source)


def _shuffled(statements: Iterable[Statement], rng: Random) -> Iterator[Statement]:
    listed = list(statements)
    rng.shuffle(listed)
    yield from listed


def _overlap(first: str, second: str) -> float:
    """Words in common, as a share of the shorter one's."""
    words = [set(text.lower().rstrip(".!?").split()) for text in (first, second)]
    return len(words[0] & words[1]) / max(1, min(map(len, words)))


def _placed(
    statements: Iterable[Statement], contexts: Sequence[str], rng: Random
) -> Iterator[ContrastRow]:
    for statement in statements:
        if rng.random() < 0.25 or len(statement.wording.split()) > _SHORT * 3:
            passage = Passage(statement.wording, 0, len(statement.wording))
        else:
            passage = place(statement.wording, contexts, rng)
        start, end = _ragged(passage, rng)
        phrase, labels = statement.phrase, (statement.says, statement.kind, statement.source)
        if rng.random() < 0.5:
            phrase = phrase.rstrip(".!")
        yield ContrastRow(phrase, passage.text, start, end, *labels)


def _ragged(passage: Passage, rng: Random) -> tuple[int, int]:
    """Borders as a search may set them: some words more, or some of the first words missing."""
    words = find_words(passage.text)
    inside = np.flatnonzero((words[:, 0] >= passage.start) & (words[:, 1] <= passage.end)).tolist()
    if len(inside) < 2:
        return passage.start, passage.end
    first, last = inside[0], inside[-1]
    if rng.random() < _TRIMMED and len(inside) > 4:
        first += rng.randint(1, min(3, len(inside) - 3))
    elif rng.random() < _WIDENED:
        first = max(0, first - rng.randint(0, 2))
        last = min(len(words) - 1, last + rng.randint(0, 2))
    return int(words[first, 0]), int(words[last, 1])


def _random_rows(rows: Sequence[ContrastRow], count: int, rng: Random) -> Iterator[ContrastRow]:
    """Phrases with the spans of others."""
    for row in rng.sample(rows, min(count, len(rows))):
        other = rng.choice(rows)
        if other.phrase != row.phrase:
            yield replace(other, phrase=row.phrase, says=False, kind="random", source=row.source)

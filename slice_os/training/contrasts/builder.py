"""Building contrast data: statements from every source, put into real text around."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from slice_os.datasets.decontamination import Decontamination, read_hashes, sentence_hash
from slice_os.text.words import find_words
from slice_os.training.contrasts import labelled, sources
from slice_os.training.contrasts.answers import answered
from slice_os.training.contrasts.contrast_rows import ContrastRow
from slice_os.training.contrasts.edits import EDITS, edited
from slice_os.training.contrasts.frames import Statement, made_statements
from slice_os.training.contrasts.lexicon import lexicon
from slice_os.training.examples.placement import place
from slice_os.training.examples.wordnet import read_synsets
from slice_os.training.record_types import Passage
from slice_os.verifier.cross_encoder import AGAINST

HASHES = "evaluation-sentence-hashes.txt.gz"
# Of every thousand rows. Frames give what pairs of real sentences lack: few words in common.
SHARES = {
    "frames": 80,
    "tatoeba": 160,
    "answers": 30,
    "snli": 26,
    "clinc150": 22,
    "bitext": 10,
    "sgd": 42,
    "cuad": 32,
    "cuad-types": 22,
    "contract-nli": 10,
    "scone": 18,
    "negnli": 8,
    "cannot": 32,
    "cad-nli": 24,
    "conj-nli": 40,
    "syntactic-roles": 20,
    "wikiresnli": 8,
    "megaveridicality": 8,
    "fever-claims": 34,
    "fever-symmetric": 2,
    "fool-me-twice": 7,
    "argkp": 46,
    "perspectrum": 82,
    "impli": 52,
    "flute": 19,
    "meanings": 66,
    "onestop-english": 12,
    "disfl-qa": 11,
    "spider-questions": 20,
    "advising": 10,
    "paraqa": 13,
    "dstc11-intents": 14,
    "nlupp": 22,
    "hwu64": 20,
    "snips": 8,
}
_PAIRS = (
    *("scone", "negnli", "cannot", "cad-nli", "conj-nli", "syntactic-roles", "wikiresnli"),
    *("megaveridicality", "fever-claims", "fever-symmetric", "fool-me-twice", "argkp"),
    *("perspectrum", "impli", "flute", "onestop-english", "disfl-qa"),
)
_CONTRACTS = ("cuad", "cuad-types", "contract-nli")
# Shares of the statements that are placed in other text; the rest is a text by itself.
_PLACED = dict.fromkeys(("frames", "tatoeba", "clinc150", "bitext", "sgd", "nlupp"), 0.75)
# Shares of the pairs that say the same of which an edited one is added.
_EDITED = {"perspectrum": 0.5, "argkp": 0.8, "impli": 0.3, "flute": 0.3, "onestop-english": 0.5}
_EDITABLE = 24
_MOST_SENTENCES = 8_000
_CONTEXT_WORDS = range(6, 25)
_TRIMMED = 0.15
_WIDENED = 0.4
_SHORT = 14
_CHANGES = 4


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
    pairs = list(sources.translated_pairs(folder))
    statements = {
        "frames": made_statements(count, rng),
        "tatoeba": _from_pairs(pairs, verbs, rng),
        "answers": answered(rng.sample(pairs, len(pairs)), verbs, rng),
        "sgd": _from_sentences(turns, "sgd", verbs, rng),
        "cuad": _from_sentences(clauses, "cuad", verbs, rng),
        **_intents(folder, rng),
        **_judged(folder, verbs, rng),
    }
    rows: list[ContrastRow] = []
    for source, share in SHARES.items():
        contexts = legal if source in _CONTRACTS else everyday
        taken = _take(statements[source], count * share // 1_000, hashes)
        rows += _placed(taken, contexts, _PLACED.get(source, 0.3), rng)
    return rows + list(_random_rows(rows, count // 12, rng))


def _intents(folder: Path, rng: Random) -> dict[str, Iterator[Statement]]:
    """Utterances of one intent or meaning, and the nearest of another."""
    clinc, bitext = folder / "clinc150/data_full.json", folder / "bitext-support-intents/train.csv"
    utterances = "utterances.jsonl.gz"
    return {
        "clinc150": _from_intents(sources.clinc_intents(clinc), "clinc150", rng),
        "bitext": _from_intents(sources.bitext_intents(bitext), "bitext", rng),
        "nlupp": labelled.alike(folder / "nlupp" / utterances, labelled.modules, rng),
        **{
            name: labelled.alike(folder / name / utterances, labelled.intent, rng)
            for name in ("dstc11-intents", "hwu64", "snips")
        },
        "spider-questions": labelled.text_groups(
            folder / "spider-questions/groups.jsonl.gz", "db", rng
        ),
        **{
            name: labelled.text_groups(folder / name / "groups.jsonl.gz", "", rng)
            for name in ("advising", "paraqa")
        },
    }


def _judged(folder: Path, verbs: frozenset[str], rng: Random) -> dict[str, Iterator[Statement]]:
    """Pairs that people judged; some that say the same are also edited so that they do not."""
    pairs = {
        name: list(labelled.labelled_pairs(folder / name / "pairs.jsonl.gz")) for name in _PAIRS
    }
    scope = folder / "scone/scope_of_the_phrase.jsonl.gz"
    pairs["scone"] += labelled.labelled_pairs(scope)
    contracts = folder / "contract-nli/train_truncated.json.gz"
    pairs["contract-nli"] = list(sources.contract_statements(contracts))
    pairs["snli"] = list(sources.snli_statements(folder / "snli-dev-test/snli_dev.tsv.gz"))
    pairs["meanings"] = list(labelled.meaning_contrasts(folder / "meanings/contrasts.jsonl.gz"))
    made = {
        name: _with_edits(_shuffled(of_set, rng), _EDITED.get(name, 0.0), verbs, rng)
        for name, of_set in pairs.items()
    }
    cuad = folder / "cuad/cuad_spans.half.jsonl.gz"
    return {**made, "cuad-types": labelled.clause_statements(cuad, rng)}


def _with_edits(
    statements: Iterable[Statement], share: float, verbs: frozenset[str], rng: Random
) -> Iterator[Statement]:
    """Statements, and for a share of those that hold one whose wording was edited."""
    for statement in statements:
        yield statement
        wording = statement.wording
        if statement.says and rng.random() < share and len(wording.split()) <= _EDITABLE:
            kind = rng.choice(sorted(EDITS))
            changed = edited(kind, wording, verbs, rng)
            if changed is not None:
                yield replace(statement, wording=changed[0], says=False, kind=kind, origin=wording)


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
            yield Statement(first, changed[0], False, kind, "tatoeba", second)
            other = edited(kind, first, verbs, Random(state))  # noqa: S311
            if other is not None and rng.random() < 0.5:
                yield Statement(first, other[0], False, kind, "tatoeba", first)
            if other is not None and other[1] == changed[1]:
                yield Statement(other[0], changed[0], True, kind, "tatoeba")
                yield Statement(other[0], second, False, kind, "tatoeba", changed[0])


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
            yield Statement(phrase, changed[0], False, kind, source, sentence)


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


def _shuffled(statements: list[Statement], rng: Random) -> list[Statement]:
    return rng.sample(statements, len(statements))


def _overlap(first: str, second: str) -> float:
    """Words in common, as a share of the shorter one's."""
    words = [set(text.lower().rstrip(".!?").split()) for text in (first, second)]
    return len(words[0] & words[1]) / max(1, min(map(len, words)))


def _placed(
    statements: Iterable[Statement], contexts: Sequence[str], share: float, rng: Random
) -> Iterator[ContrastRow]:
    for statement in statements:
        wording = statement.wording
        if not find_words(wording).size:
            continue
        if statement.before:
            text = f"{statement.before} {wording}"
            passage = Passage(text, len(statement.before) + 1, len(text))
        elif rng.random() >= share or len(wording.split()) > _SHORT * 3:
            passage = Passage(wording, 0, len(wording))
        else:
            passage = place(wording, contexts, rng)
        start, end = _ragged(passage, rng)
        phrase, labels = statement.phrase, (statement.says, statement.kind, statement.source)
        if rng.random() < 0.5:
            phrase = phrase.rstrip(".!")
        against = _against(statement, passage.start)
        yield ContrastRow(phrase, passage.text, start, end, *labels, against)


def _against(statement: Statement, at: int) -> tuple[tuple[int, int], ...] | None:
    """The words that an edit put in, or the one after words that it took out."""
    if statement.says:
        return ()
    if not statement.origin or statement.kind not in AGAINST:
        return None
    words = [find_words(text)[:, :2].tolist() for text in (statement.origin, statement.wording)]
    texts = (statement.origin.lower(), statement.wording.lower())
    before, after = ([text[a:b] for a, b in of] for text, of in zip(texts, words, strict=True))
    found = []
    for change, _, _, first, last in SequenceMatcher(None, before, after, False).get_opcodes():
        if change != "equal" and after:
            first = min(first, len(after) - 1)
            found.append((at + words[1][first][0], at + words[1][max(first, last - 1)][1]))
    # A wording that was rewritten throughout does not tell which words count.
    return tuple(found) if 0 < len(found) <= _CHANGES else None


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
            yield replace(
                other,
                phrase=row.phrase,
                says=False,
                kind="random",
                source=row.source,
                against=None,
            )

"""Building contrast data: statements from every source, put into real text around."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from slice_os.datasets.decontamination import Decontamination, read_hashes, sentence_hash
from slice_os.records import read_toml
from slice_os.training.examples.wordnet import read_synsets

from . import labelled, sources
from .answers import answered
from .contrast_rows import ContrastRow
from .frames import Statement, made_statements
from .from_text import (
    from_intents,
    from_pairs,
    from_sentences,
    with_edits,
)
from .placed_rows import placed_rows, random_rows

HASHES = "evaluation-sentence-hashes.txt.gz"
MIXTURE = Path(__file__).with_name("mixture.toml")
_CONTRACTS = ("cuad", "cuad-types", "contract-nli")
_MOST_SENTENCES = 8_000
_CONTEXT_WORDS = range(6, 25)


def build_rows(folder: Path, count: int, seed: int) -> list[ContrastRow]:
    """About so many rows from a folder with the data sets under their names in the catalog.

    ``mixture.toml`` says how many of each. The same seed and data give the same rows. Raises an
    `InputError` if a file is missing or malformed.
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
        "tatoeba": from_pairs(pairs, verbs, rng),
        "answers": answered(rng.sample(pairs, len(pairs)), verbs, rng),
        "sgd": from_sentences(turns, "sgd", verbs, rng),
        "cuad": from_sentences(clauses, "cuad", verbs, rng),
        "cuad-types": labelled.clause_statements(cuad, rng),
        **{name: from_intents(of, name, rng) for name, of in labelled.intents(folder).items()},
    }
    judged = labelled.judged(folder)
    rows: list[ContrastRow] = []
    for source, part in _mixture().items():
        if source in judged:
            shuffled = rng.sample(judged[source], len(judged[source]))
            statements[source] = with_edits(shuffled, part["edited"], verbs, rng)
        taken = _take(statements[source], count * part["share"] // 1_000, hashes)
        contexts = legal if source in _CONTRACTS else everyday
        rows += placed_rows(taken, contexts, part["placed"], rng)
    return rows + list(random_rows(rows, count // 12, rng))


def _mixture() -> dict[str, dict[str, Any]]:
    """The table of each source; a share of thousand rows, and shares of one."""
    content = read_toml(MIXTURE)
    usual = content.pop("usual")
    return {name: {**usual, **values} for name, values in content.items()}


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

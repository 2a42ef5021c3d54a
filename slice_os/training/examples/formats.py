"""Formats: how the files of a data set become records."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slice_os.datasets.files import DataSource
from slice_os.datasets.graded_pairs import HIGHEST, STS_B, read_sts_b
from slice_os.datasets.span_sets import SPAN_SETS, Question, Span, read_span_set
from slice_os.evaluation.sts_b_context.context_rows import find_verbatim
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words
from slice_os.training.examples import wordnet
from slice_os.training.record_types import Pair, Passage, Record, Sense, Substitution, Triple

SWORDS = DataSource("SWORDS v1.1 as JSON", "https://github.com/p-lambda/swords")
_RIGHT = 0.5  # share of the judges
_WRONG = 0.1
_CONTEXT = 130
# Of pieces of annotated documents, in words; and how many of them make triples of a query.
_LONGEST_PIECE = 50
_SHORTEST_PIECE = 4
_POSITIVES = 2
_NEGATIVES = 6
# As in SICK and STS: entailed sentences are alike, contradictions share the topic only.
NLI_SCORES = {"entailment": 0.85, "neutral": 0.5, "contradiction": 0.15}
_BEFORE_MARK = re.compile(r"\s+(?=[.,;:!?]|n't|'(?:s|re|ve|ll|d|m)\b)")


@dataclass(frozen=True, slots=True)
class Format:
    """A format of data files; if it ``splits``, ``read`` takes the name of a split, too."""

    records: type
    read: Callable[..., Iterator[Record]]
    source: DataSource
    splits: bool = False


def _texts(path: Path) -> Iterator[Passage]:
    for row in FORMATS["texts-jsonl"].source.json_lines(path):
        yield Passage(row.text("text"))


def _pairs(path: Path) -> Iterator[Pair]:
    for row in FORMATS["pairs-jsonl"].source.json_lines(path):
        first, second = row.text("first"), row.text("second")
        score = row.score("score", 0, 1) if "score" in row.values else 1.0
        passage = Passage(second)
        if "passage" in row.values:
            text = row.text("passage")
            if (found := find_verbatim(second, text)) is None:
                raise row.malformed(f"the passage does not contain {second!r}")
            passage = Passage(text, *found)
        yield Pair(first, second, score, passage)


def _triples(path: Path) -> Iterator[Triple]:
    for row in FORMATS["triples-jsonl"].source.json_lines(path):
        query, positive = row.text("query"), row.text("positive")
        negatives = row.values.get("negatives")
        if not isinstance(negatives, list) or {str} != set(map(type, negatives)):
            raise row.malformed("'negatives' is not a list of texts")
        yield Triple(query, positive, tuple(negatives))


def _triples_tsv(path: Path) -> Iterator[Triple]:
    for query, positive, negative in _cells(path, "triples-tsv"):
        yield Triple(query, positive, (negative,))


def _sts(path: Path) -> Iterator[Pair]:
    for pair in read_sts_b(path):
        yield _pair(pair.first, pair.second, pair.score / HIGHEST)


def _nli(path: Path) -> Iterator[Pair]:
    for label, premise, hypothesis in _cells(path, "nli-tsv"):
        if label in NLI_SCORES:
            yield _pair(joined(premise), joined(hypothesis), NLI_SCORES[label])


def _cells(path: Path, name: str) -> Iterator[list[str]]:
    """The first three cells of tab-separated lines without a header."""
    columns = ("first", "second", "third")
    rows = FORMATS[name].source.table(path, columns, separator="\t", quoted=False, header=False)
    for row in rows:
        yield [cell.strip() for cell in row.values.values()]


def _pair(first: str, second: str, score: float) -> Pair:
    return Pair(first, second, score, Passage(second))


def joined(tokens: str) -> str:
    """Text from tokens, with punctuation joined to its words again."""
    return _BEFORE_MARK.sub("", tokens).strip()


def _swords(path: Path) -> Iterator[Substitution]:
    """Targets with substitutes that at least half of the judges accept, and some that few do.

    SWORDS (Lee et al., 2021). Contexts are cut to about 130 characters on either side.
    """
    data: Any = SWORDS.json(path)
    try:
        judged: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for key, row in data["substitutes"].items():
            votes = data["substitute_labels"][key]
            share = sum(vote.startswith("TRUE") for vote in votes) / len(votes)
            judged[row["target_id"]].append((row["substitute"], share))
        targets = [
            (key, *_near(data["contexts"][row["context_id"]]["context"], row), len(row["target"]))
            for key, row in data["targets"].items()
        ]
    except (LookupError, TypeError, AttributeError, ZeroDivisionError) as error:
        reason = f"lacks fields ({type(error).__name__}: {error})"
        raise SWORDS.malformed(path, reason) from None
    for key, text, start, length in targets:
        right = tuple(word for word, share in judged[key] if share >= _RIGHT)
        wrong = tuple(word for word, share in judged[key] if share < _WRONG)
        if right and wrong:
            yield Substitution(text, start, start + length, right, wrong)


def _near(context: str, target: Mapping[str, Any]) -> tuple[str, int]:
    """The context around a target, cut at spaces, and where the target is in it."""
    start = target["offset"]
    end = start + len(target["target"])
    left, right = max(0, start - _CONTEXT), min(len(context), end + _CONTEXT)
    while left > 0 and not context[left - 1].isspace():
        left -= 1
    while right < len(context) and not context[right].isspace():
        right += 1
    return context[left:right], start - left


def _answers(path: Path, split: str = "") -> Iterator[Triple]:
    """Triples of every query that a document answers.

    Sentences are cut into pieces of at most 50 words; pieces under four words are left out. The
    two pieces that gold spans cover most are positives. Pieces that they do not touch are
    negatives, those that share most words with the query first: from the same document and in the
    same style, they differ in what they say.
    """
    found = read_span_set(path, split or None)
    texts = {document.id: document.text for document in found.documents}
    for doc_id, questions in itertools.groupby(found.questions, key=lambda one: one.doc_id):
        text = texts[doc_id]
        pieces = _pieces(text)
        words = [_vocabulary(text[start:end]) for start, end in pieces]
        for question in questions:
            yield from _of_question(question, text, pieces, words)


def _of_question(
    question: Question, text: str, pieces: Sequence[Span], words: Sequence[frozenset[str]]
) -> Iterator[Triple]:
    covered = [_covered(piece, question.spans) for piece in pieces]
    wanted = _vocabulary(question.query)
    by_cover = sorted(range(len(pieces)), key=lambda index: -covered[index])
    by_words = sorted(range(len(pieces)), key=lambda index: -len(wanted & words[index]))
    negatives = [index for index in by_words if not covered[index]][:_NEGATIVES]
    if not negatives:
        return
    others = tuple(text[slice(*pieces[index])] for index in negatives)
    for index in by_cover[:_POSITIVES]:
        if covered[index]:
            yield Triple(question.query, text[slice(*pieces[index])], others)


def _pieces(text: str) -> list[Span]:
    pieces = []
    for start, end in itertools.pairwise([0, *sentence_ends(text)]):
        words = find_words(text[start:end])
        parts = -(-len(words) // _LONGEST_PIECE)
        for part in range(parts):
            own = words[len(words) * part // parts : len(words) * (part + 1) // parts]
            if len(own) >= _SHORTEST_PIECE:
                pieces.append((start + int(own[0][0]), start + int(own[-1][1])))
    return pieces


def _covered(piece: Span, spans: Sequence[Span]) -> int:
    """Code points of a piece that gold spans cover."""
    start, end = piece
    return sum(max(0, min(end, last) - max(start, first)) for first, last in spans)


def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(text[start:end].lower() for start, end in find_words(text))


FORMATS: dict[str, Format] = {
    "texts-jsonl": Format(Passage, _texts, DataSource('lines of {"text"}')),
    "pairs-jsonl": Format(
        Pair,
        _pairs,
        DataSource('lines of {"first", "second"}, and "score" (0 to 1) and "passage" if known'),
    ),
    "triples-jsonl": Format(
        Triple, _triples, DataSource('lines of {"query", "positive", "negatives": []}')
    ),
    "triples-tsv": Format(
        Triple, _triples_tsv, DataSource("query, positive, negative in tab-separated lines")
    ),
    "answers": Format(Triple, _answers, SPAN_SETS, splits=True),
    "sts-csv": Format(Pair, _sts, STS_B),
    "nli-tsv": Format(Pair, _nli, DataSource("label, premise, hypothesis in tab-separated lines")),
    "wordnet-substitutes": Format(Substitution, wordnet.read_substitutions, wordnet.SYNSETS),
    "wordnet-senses": Format(Sense, wordnet.read_senses, wordnet.SYNSETS),
    "swords": Format(Substitution, _swords, SWORDS),
}


def read_files(format_name: str, files: list[Path], split: str = "") -> Iterator[Any]:
    """The records of a data set's files, in order.

    Raises an `InputError` if a file is missing or malformed, or has no such split.
    """
    known = FORMATS[format_name]
    for path in files:
        yield from known.read(path, split) if known.splits else known.read(path)

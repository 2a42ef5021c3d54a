"""How well the probability of a hit holds on kinds of text that it was not fitted to.

    python benchmarks/verifier_calibration.py --data ../shared/data --verifier slice-verify \
        --verifier alignment --contrasts contrasts.jsonl [--write]

Placed: sentences of Tatoeba paraphrase pairs are placed in other people's text, as
calibration_set.py does it, in text of four kinds: everyday prose (Swords), dialogues (MultiDoGO),
contracts (CUAD), and meetings (QMSum). One text in three gets a wording of a query that was edited
so that it does not say it. The first hits of each query over the texts of a kind are right if they
are the sentence placed. Pairs whose phrase is in the contrasts are left out, so that the verifier
has seen none.

Natural: the hits of benchmarks/natural, which people labelled; those left open are left out.

For each kind, the probability is fitted to the placed and natural hits of the three others, and to
pairs of the contrasts, so that a high cosine does not make up for a denial; each of these sets
counts the same. With --write, the one fitted to all becomes the bundled combination.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from calibration_set import _lines, sentence_pairs, texts
from natural_hits import LABELS, found

from slice_os import Corpus, Document, Hit, SpanEncoder
from slice_os.calibration import fit_calibration
from slice_os.datasets.span_sets import DocumentSpan
from slice_os.evaluation.calibration.measures import brier_score, expected_calibration_error
from slice_os.evaluation.span_retrieval.measures import halves_overlap
from slice_os.evaluation.stats import ranks
from slice_os.mining import make_query, search
from slice_os.page import PageRequest
from slice_os.sentences import sentence_ends
from slice_os.training.contrasts.builder import known_verbs
from slice_os.training.contrasts.edits import EDITS, edited
from slice_os.training.contrasts.rows import ContrastRow, read_rows
from slice_os.verifier.claims import Verifier, claim_in, claim_of
from slice_os.verifier.combined import COMBINATION, Combination
from slice_os.verifier.fitting import fit_combination
from slice_os.verifier.opening import open_verifier
from slice_os.verifier.wording.reading import ClaimReader
from slice_os.words import find_words

SEED = 2
TOP_K = 10
KINDS = ("everyday", "dialogues", "contracts", "meetings")
PAIRS, BATCH = 4_000, 64
RESULT = Path(__file__).parent / "results" / "verifier_calibration.json"


@dataclass(frozen=True)
class LabelledHits:
    """Hits of a kind of text.

    Attributes:
        said: ``(n, n_parts)`` what each verifier says.
        cosines: ``(n,)``.
        phrase_words: ``(n,)``.
        span_words: ``(n,)``.
        priors: ``(n,)`` probabilities by the shipped calibration of the cosine.
        right: ``(n,)`` 1 if the hit says its phrase.
    """

    said: np.ndarray
    cosines: np.ndarray
    phrase_words: np.ndarray
    span_words: np.ndarray
    priors: np.ndarray
    right: np.ndarray


def meetings(data: Path) -> list[str]:
    """Turns of QMSum's training meetings, joined to texts of 30 to 90 words."""
    found = []
    for row in _lines(data / "qmsum" / "train.jsonl.gz"):
        text = ""
        for turn in row["meeting_transcripts"]:
            text = f"{text}\n{turn['content']}".strip()
            words = len(find_words(text))
            if words >= 30:
                found += [text] if words <= 90 else []
                text = ""
    return found


def placed(
    passages: Iterable[str],
    pairs: list[tuple[str, str]],
    verbs: frozenset[str],
    choose: random.Random,
) -> Iterator[tuple[Document, str | None, DocumentSpan | None]]:
    """Texts with a sentence placed in two of three, the query for it, and where it is.

    The third gets an edited wording of the next query, which does not say it: denied, asked, with
    another number, and so on.
    """
    for number, text in enumerate(passages):
        doc_id = str(number)
        query, answer = pairs[-1]
        contrast = number % 3 == 0
        if contrast:
            edits = [edited(kind, query, verbs, choose) for kind in sorted(EDITS)]
            answer = choose.choice([one[0] for one in edits if one] or [""])
        else:
            pairs.pop()
        at = choose.choice([0, *sentence_ends(text)])
        before = text[:at] + (" " if at and not text[at - 1].isspace() else "")
        span = DocumentSpan(doc_id, len(before), len(before) + len(answer))
        document = Document(doc_id, f"{before}{answer} {text[at:]}".rstrip())
        yield (document, None, None) if contrast else (document, query, span)


def placed_hits(
    rows: list[tuple[Document, str | None, DocumentSpan | None]], encoder: SpanEncoder
) -> Iterator[tuple[Hit, float]]:
    """The first hits of each query over all documents, and whether they are right."""
    with tempfile.TemporaryDirectory() as folder, Corpus(Path(folder) / "s", encoder) as corpus:
        corpus.add(document for document, _, _ in rows)
        for _, query, gold in rows:
            if query is None or gold is None:
                continue
            asked = make_query(encoder, query, word_vectors=True)
            for hit in search(corpus.store, asked, PageRequest(TOP_K, fusion="cosine")):
                span = DocumentSpan(hit.doc_id, hit.start, hit.end)
                yield hit, halves_overlap(span, {gold.doc_id: [(gold.start, gold.end)]})


def natural_hits(kind: str, data: Path, encoder: SpanEncoder) -> Iterator[tuple[Hit, float]]:
    """The hits that people labelled, and whether they are right."""
    lines = (LABELS / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    labels = {
        (row["phrase"], row["doc_id"], row["start"], row["end"]): row["right"] for row in rows
    }
    phrases = list(dict.fromkeys(row["phrase"] for row in rows))
    for phrase, hits in found(kind, phrases, data, encoder):
        for hit in hits:
            right = labels.get((phrase, hit.doc_id, hit.start, hit.end))
            if right is not None:
                yield hit, right


def pairs_of(
    rows: Sequence[ContrastRow], encoder: SpanEncoder, verifiers: Sequence[Verifier]
) -> LabelledHits:
    """What verifiers and cosines say of spans, as if a search had found them."""
    calibration, reader = encoder.calibration, ClaimReader(encoder)
    assert calibration is not None
    columns: list[tuple[float, ...]] = []
    said: list[list[float]] = []
    for at in range(0, len(rows), BATCH):
        some = rows[at : at + BATCH]
        claims = [claim_in(row.phrase, row.text, row.start, row.end) for row in some]
        verdicts = zip(*(verifier.check(claims) for verifier in verifiers), strict=True)
        said += [[one.probability for one in of_claim] for of_claim in verdicts]
        for row, read in zip(some, reader.read(claims), strict=True):
            words = len(read.phrase), len(read.span)
            prior = calibration.probabilities([read.cosine], [words[0]], [words[1]]).item()
            columns.append((read.cosine, *words, prior, row.says))
    return LabelledHits(np.array(said), *np.array(columns, dtype=np.float64).T)


def labelled(hits: Iterable[tuple[Hit, float]], verifiers: Sequence[Verifier]) -> LabelledHits:
    """What verifiers and cosines say of hits."""
    columns: list[tuple[float, ...]] = []
    said: list[list[float]] = []
    for hit, right in hits:
        said.append([verifier.check([claim_of(hit)])[0].probability for verifier in verifiers])
        words = len(find_words(hit.phrase)), len(find_words(hit.text))
        columns.append((hit.cosine, *words, hit.probability or 0.0, right))
    return LabelledHits(np.array(said), *np.array(columns, dtype=np.float64).T)


def joined(parts: Iterable[LabelledHits]) -> LabelledHits:
    """All hits of several kinds."""
    rows = list(parts)
    names = LabelledHits.__dataclass_fields__
    return LabelledHits(*(np.concatenate([getattr(row, name) for row in rows]) for name in names))


def probabilities(
    sets: Sequence[LabelledHits], test: LabelledHits, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Probabilities of the test hits, by what was fitted to other sets."""
    train, hits = joined(sets), joined(sets[:-1])
    # A cosine cannot tell contrasts; they would only spoil its fit.
    cosine = fit_calibration("", hits.cosines, hits.phrase_words, hits.span_words, hits.right, "")
    found = {
        "shipped calibration of the cosine": test.priors,
        "cosine, fitted": cosine.probabilities(test.cosines, test.phrase_words, test.span_words),
    }
    for chosen in [[name] for name in names] + ([list(names)] if len(names) > 1 else []):
        columns = [names.index(name) for name in chosen]
        fitted = fit_combination(
            chosen,
            train.said[:, columns],
            train.priors,
            train.right,
            encoder_id="",
            fitted_on="",
            counts=shares(sets),
        )
        for label, priors in ((" and cosine", test.priors.tolist()), ("", [None] * len(test.said))):
            found[" and ".join(chosen) + label] = np.array(
                [
                    fitted.probability(row, prior)
                    for row, prior in zip(test.said[:, columns].tolist(), priors, strict=True)
                ]
            )
    return found


def measures(values: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Calibration error, Brier score, AUC, and precision and recall from probability .5 on."""
    shown = values >= 0.5
    return {
        "ece": round(expected_calibration_error(values, right), 4),
        "brier": round(brier_score(values, right), 4),
        "auc": round(_auc(values, right), 4),
        "precision": round(float(right[shown].mean()), 4) if shown.any() else 0.0,
        "recall": round(float(right[shown].sum() / right.sum()), 4),
    }


def report(
    parts: dict[tuple[str, str], LabelledHits],
    pairs: LabelledHits,
    names: Sequence[str],
    encoder_id: str,
) -> tuple[dict[str, object], Combination]:
    """Measures with each kind of text left out, and what is fitted to all of them.

    Args:
        parts: hits by kind of text and making.
        pairs: of the contrasts.
        names: of the verifiers.
        encoder_id: of the encoder that made the hits.
    """
    result: dict[str, object] = {}
    for (kind, making), test in parts.items():
        others = [part for key, part in parts.items() if key[0] != kind]
        values = probabilities([*others, pairs], test, names)
        result[f"{kind}, {making}"] = {
            "hits": len(test.right),
            "right": int(test.right.sum()),
            **{name: measures(one, test.right) for name, one in values.items()},
        }
    everything = [*parts.values(), pairs]
    train = joined(everything)
    fitted = fit_combination(
        names,
        train.said,
        train.priors,
        train.right,
        encoder_id=encoder_id,
        fitted_on=f"placed and natural hits over {', '.join(KINDS)}, and contrasts; see "
        "benchmarks/verifier_calibration.py",
        counts=shares(everything),
    )
    return result, fitted


def shares(parts: Iterable[LabelledHits]) -> np.ndarray:
    """How much each hit counts, if each set counts the same."""
    return np.concatenate([np.full(len(part.right), 1 / len(part.right)) for part in parts])


def _auc(values: np.ndarray, right: np.ndarray) -> float:
    """How often a right hit has the higher value of a right and a wrong one."""
    n = int(right.sum())
    total = float(ranks(values)[right > 0].sum())
    return (total - n * (n + 1) / 2) / (n * (len(right) - n))


def main() -> None:
    """Label, fit, measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verifier", action="append", required=True, help="name; repeatable")
    parser.add_argument("--contrasts", type=Path, required=True, help="of recipes/contrasts.py")
    parser.add_argument("--texts", type=int, default=180, help="texts of a kind")
    parser.add_argument("--write", action="store_true", help="as the bundled combination")
    chosen = parser.parse_args()
    rows = list(read_rows(chosen.contrasts))
    seen = {text for row in rows for text in (row.phrase, row.text[row.start : row.end])}
    choose = random.Random(SEED)
    pairs = [pair for pair in sentence_pairs(chosen.data) if not seen & set(pair)]
    choose.shuffle(pairs)
    passages = meetings(chosen.data)
    choose.shuffle(passages)
    verbs = known_verbs(chosen.data)
    encoder = SpanEncoder()
    verifiers = [open_verifier(name, encoder) for name in chosen.verifier]
    parts = {}
    for kind, some in zip(KINDS, [*texts(chosen.data, choose), passages], strict=True):
        texts_with = list(placed(some[: chosen.texts], pairs, verbs, choose))
        parts[kind, "placed"] = labelled(placed_hits(texts_with, encoder), verifiers)
        parts[kind, "natural"] = labelled(natural_hits(kind, chosen.data, encoder), verifiers)
    random.Random(SEED).shuffle(rows)
    contrasts = pairs_of(rows[:PAIRS], encoder, verifiers)
    result, fitted = report(parts, contrasts, chosen.verifier, encoder.card.encoder_id)
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if chosen.write:
        fitted.save(COMBINATION)


if __name__ == "__main__":
    main()

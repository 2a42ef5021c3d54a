"""Check the probability of hits on kinds of text that it was not fitted to.

    python benchmarks/verifier_calibration.py --data ../shared/data --contrasts contrasts.jsonl \
        --development read.jsonl.development [--write]

Placed: sentences of Tatoeba paraphrase pairs are placed in other people's text, as
calibration_set.py does it, in text of four kinds: everyday prose (Swords), dialogues (MultiDoGO),
contracts (CUAD), and meetings (QMSum). One text in three gets a wording of a query that was edited
so that it does not say it. The first hits of each query over the texts of a kind are right if they
are the sentence placed. Pairs whose phrase is in the contrasts are left out, so that the verifier
has seen none, and pairs of "he" and "she", which pivot languages mix up.

Natural: the hits of benchmarks/natural, which people labelled; those left open are left out.

For each kind, the verifier is fitted to the placed and natural hits of the three others, and to
contrasts that recipes/contrasts.py made, so that a high cosine does not make up for a denial. With
--write, the weights that are fitted without meetings become the bundled ones: QMSum is there for
evaluation alone.

Both: the log-odds of the wording and of the bundled network, which has seen none of these hits, but
others over dialogues, contracts and web texts, are weighed by logistic regression on the natural
hits of the other kinds, and, with WRITTEN of the weight of such a set, on the development rows of
recipes/read_contrasts.py, which the network has not seen either. The sum is then scaled to the
hits; the weights in slice_os/verifier/bundled.py are those without meetings.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from alignment_fitting import ComparedClaims, compared, fit_alignment
from calibration_set import _lines, sentence_pairs, texts
from natural_hits import LABELS, found
from scipy.optimize import minimize

from recipes.verifier_parts.builder import known_verbs
from recipes.verifier_parts.contrast_rows import ContrastRow, read_rows
from recipes.verifier_parts.edits import EDITS, edited
from slice_os import Corpus, Document, Hit, SpanEncoder
from slice_os.datasets.span_sets import DocumentSpan
from slice_os.encoder.calibration import FEW_LABELS, fit_calibration
from slice_os.evaluation.calibration import expected_calibration_error
from slice_os.evaluation.measures import ranks
from slice_os.evaluation.span_retrieval.measures import halves_overlap
from slice_os.query.options import SearchOptions
from slice_os.search.run import make_query, search
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words
from slice_os.verifier.bundled import NETWORK, log_odds
from slice_os.verifier.claims import Claim, claim_in, claim_of
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.wording.comparison import FEATURES
from slice_os.verifier.wording.parties import PERSONS
from slice_os.verifier.wording.verifier import WEIGHTS, WordingWeights, logistic, read_weights

SEED = 2
TOP_K = 10
HE_OR_SHE = PERSONS["he"], PERSONS["she"]
TRAINED = ("everyday", "dialogues", "contracts")
KINDS = (*TRAINED, "meetings")
CONTRASTS, CONTRAST_SEED, LONGEST = 16_000, 1, 300
WRITTEN = 0.25
RESULT = Path(__file__).parent / "results" / "verifier_calibration.json"


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


def one_person(first: str, second: str) -> bool:
    """Whether not one of two wordings alone speaks of "he", or of "she"."""
    told = [
        {PERSONS.get(text[start:end].lower()) for start, end in find_words(text)[:, :2].tolist()}
        for text in (first, second)
    ]
    return all((person in told[0]) == (person in told[1]) for person in HE_OR_SHE)


def placed_hits(
    rows: list[tuple[Document, str | None, DocumentSpan | None]], encoder: SpanEncoder
) -> Iterator[tuple[Hit, bool]]:
    """The first hits of each query over all documents, and whether they are right."""
    with tempfile.TemporaryDirectory() as folder, Corpus(Path(folder) / "s", encoder) as corpus:
        corpus.add(document for document, _, _ in rows)
        for _, query, gold in rows:
            if query is None or gold is None:
                continue
            asked = make_query(encoder, query, word_vectors=True)
            for hit in search(corpus.store, asked, SearchOptions(top_k=TOP_K, fusion="cosine")):
                own = hit.span or hit
                span = DocumentSpan(hit.doc_id, own.start, own.end)
                yield hit, bool(halves_overlap(span, {gold.doc_id: [(gold.start, gold.end)]}))


def natural_hits(kind: str, data: Path, encoder: SpanEncoder) -> Iterator[tuple[Hit, bool]]:
    """The hits that people labelled, and whether they are right."""
    lines = (LABELS / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    labels = {
        (row["phrase"], row["doc_id"], row["start"], row["end"]): row["right"] for row in rows
    }
    phrases = list(dict.fromkeys(row["phrase"] for row in rows))
    for phrase, hits in found(kind, phrases, data, encoder):
        for hit in hits:
            own = hit.span or hit
            right = labels.get((phrase, hit.doc_id, own.start, own.end))
            if right is not None:
                yield hit, right


def contrasts(path: Path) -> list[tuple[Claim, bool]]:
    """Some of the contrasts; long ones take the most time and teach least."""
    rows = list(read_rows(path))
    random.Random(CONTRAST_SEED).shuffle(rows)
    chosen = [row for row in rows[:CONTRASTS] if len(row.phrase) + row.end - row.start < LONGEST]
    return labelled(chosen)


def labelled(rows: Iterable[ContrastRow]) -> list[tuple[Claim, bool]]:
    """The claims of rows, and whether they hold."""
    return [(claim_in(row.phrase, row.text, row.start, row.end), row.says) for row in rows]


@dataclass(frozen=True, slots=True)
class Part:
    """Labelled claims, compared and read.

    Attributes:
        claims: their wording, compared.
        odds: ``(n,)`` log-odds of the network.
    """

    claims: ComparedClaims
    odds: np.ndarray

    def evidence(self, weights: WordingWeights) -> np.ndarray:
        """``(n, 3)`` log-odds of network and of wording, and ones."""
        wording = list(map(log_odds, said(weights, self.claims)))
        return np.column_stack([self.odds, wording, np.ones(len(wording))])


def said(weights: WordingWeights, claims: ComparedClaims) -> np.ndarray:
    """``(n,)`` probabilities by the wording and the cosine."""
    about = logistic(weights.aboutness(claims.features, claims.priors))
    return logistic(weights.agreement(claims.features)) * about


def weighed(hits: Sequence[Part], written: Part, weights: WordingWeights) -> np.ndarray:
    """``(3,)`` weights of network and wording, and a constant, scaled to the hits."""
    sets = [(part.evidence(weights), part.claims.right) for part in (*hits, written)]
    first = logistic_regression(sets, [*[1.0] * len(hits), WRITTEN])[:2]
    summed = [
        (np.column_stack([columns[:, :2] @ first, columns[:, 2]]), right)
        for columns, right in sets[:-1]
    ]
    scale, constant = logistic_regression(summed)
    return np.append(scale * first, constant)


def logistic_regression(
    sets: Sequence[tuple[np.ndarray, np.ndarray]], weights: Sequence[float] | None = None
) -> np.ndarray:
    """Weights of columns, given sets of them with labels; sets count the same if not weighted."""
    columns = np.vstack([one for one, _ in sets])
    sign = 2 * np.concatenate([right for _, right in sets]) - 1
    counts = weights or [1.0] * len(sets)
    share = np.concatenate(
        [np.full(len(right), n / len(right)) for (_, right), n in zip(sets, counts, strict=True)]
    )

    def loss(chosen: np.ndarray) -> float:
        return float((share * np.logaddexp(0, -sign * (columns @ chosen))).sum())

    found: np.ndarray = minimize(loss, np.zeros(columns.shape[1])).x
    return found


def probabilities(
    hits: Mapping[tuple[str, str], Part],
    made: ComparedClaims,
    written: Part,
    tests: Mapping[str, Part],
) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Probabilities of each test's hits, by what was fitted to other sets."""
    weights = fit_alignment([one.claims for one in hits.values()], made, "", "")
    # A cosine cannot tell contrasts; they would only spoil its fit.
    right = np.concatenate([one.claims.right for one in hits.values()])
    known = np.hstack([lengths(one.claims) for one in hits.values()])
    cosine = fit_calibration("", known[0], known[1], known[2], right, "")
    natural = [one for (_, making), one in hits.items() if making == "natural"]
    weighs = weighed(natural, written, weights)
    for name, part in tests.items():
        test = part.claims
        yield (
            name,
            {
                "shipped calibration of the cosine": test.priors,
                "cosine, fitted": cosine.probabilities(*lengths(test)),
                "wording": logistic(weights.agreement(test.features)),
                "wording and cosine": said(weights, test),
                "wording, cosine and network": logistic(part.evidence(weights) @ weighs),
            },
        )


def lengths(claims: ComparedClaims) -> np.ndarray:
    """``(3, n)`` cosines, and words of phrases and of spans."""
    names = ("cosine", "phrase_words", "span_words")
    cosines, ours, theirs = (claims.features[:, FEATURES.index(name)] for name in names)
    return np.array([cosines, np.rint(np.exp(ours)), np.rint(np.exp(theirs))])


def measures(values: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Calibration error, Brier score, AUC, and precision and recall from probability .5 on."""
    shown = values >= 0.5
    return {
        "ece": round(expected_calibration_error(values, right), 4),
        "brier": round(float(np.mean((values - right) ** 2)), 4),
        "auc": round(auc(values, right), 4),
        "precision": round(float(right[shown].mean()), 4) if shown.any() else 0.0,
        "recall": round(float(right[shown].sum() / right.sum()), 4),
    }


def report(
    parts: dict[tuple[str, str], Part], made: ComparedClaims, written: Part
) -> dict[str, object]:
    """Measures with each kind of text left out.

    Args:
        parts: hits by kind of text and making.
        made: contrasts that were made, for the wording.
        written: those that were written, and hits that were read.
    """
    result: dict[str, object] = {}
    for kind in KINDS:
        others = {key: part for key, part in parts.items() if key[0] != kind}
        tests = {making: test for (of, making), test in parts.items() if of == kind}
        for making, values in probabilities(others, made, written, tests):
            right = tests[making].claims.right
            result[f"{kind}, {making}"] = {
                "hits": len(right),
                "right": int(right.sum()),
                **{name: measures(one, right) for name, one in values.items()},
            }
    return result


def auc(values: np.ndarray, right: np.ndarray) -> float:
    """The share of pairs in which the right hit has a higher value than the wrong one."""
    n = int(right.sum())
    total = float(ranks(values)[right > 0].sum())
    return (total - n * (n + 1) / 2) / (n * (len(right) - n))


def main() -> None:
    """Label, fit, measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--contrasts", type=Path, required=True, help="of recipes/contrasts.py")
    parser.add_argument(
        "--development", type=Path, required=True, help="of recipes/read_contrasts.py"
    )
    parser.add_argument("--texts", type=int, default=180, help="texts of a kind")
    parser.add_argument("--write", action="store_true", help="as the bundled weights")
    chosen = parser.parse_args()
    rows = read_rows(chosen.contrasts)
    seen = {text for row in rows for text in (row.phrase, row.text[row.start : row.end])}
    choose = random.Random(SEED)
    pairs = [
        pair for pair in sentence_pairs(chosen.data) if not seen & set(pair) and one_person(*pair)
    ]
    choose.shuffle(pairs)
    passages = meetings(chosen.data)
    choose.shuffle(passages)
    verbs = known_verbs(chosen.data)
    encoder, network = SpanEncoder(), CrossEncoderVerifier(NETWORK)

    def part(claims: list[tuple[Claim, bool]]) -> Part:
        read = network.check([claim for claim, _ in claims])
        odds = np.array([log_odds(verdict.probability) for verdict in read])
        return Part(compared(encoder, claims), odds)

    parts = {}
    for kind, some in zip(KINDS, [*texts(chosen.data, choose), passages], strict=True):
        texts_with = list(placed(some[: chosen.texts], pairs, verbs, choose))
        for making, hits in (
            ("placed", placed_hits(texts_with, encoder)),
            ("natural", natural_hits(kind, chosen.data, encoder)),
        ):
            claims = [(claim_of(hit), right) for hit, right in hits]
            right = sum(says for _, says in claims)
            if min(right, len(claims) - right) >= FEW_LABELS:
                parts[kind, making] = part(claims)
    made = compared(encoder, contrasts(chosen.contrasts))
    written = part(labelled(read_rows(chosen.development)))
    result = report(parts, made, written)
    trained = [one for (kind, making), one in parts.items() if kind in TRAINED]
    natural = [one for (kind, of), one in parts.items() if of == "natural" and kind in TRAINED]
    result["weights of both"] = weighed(natural, written, read_weights()).tolist()
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if chosen.write:
        learned = [one.claims for one in trained]
        provenance = (
            f"{sum(len(one.right) for one in learned):,} placed and natural hits over "
            f"{', '.join(TRAINED)}, and {len(made.right):,} made contrasts; see "
            "benchmarks/verifier_calibration.py"
        )
        weights = fit_alignment(learned, made, encoder.card.encoder_id, provenance)
        WEIGHTS.write_bytes(orjson.dumps(weights, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()

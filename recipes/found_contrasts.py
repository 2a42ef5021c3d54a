"""Add hits of searches to contrasts: near their phrase, and most of them do not say it.

    python recipes/found_contrasts.py DATA contrasts.jsonl OUT [--hits N] [--kept N] [--seed N]

Contrasts made of pairs differ in a denial, a role or a number. The wrong hits that users see differ
in other ways: half of the phrase is missing, or something else is said in the same words. So spans
that say their phrase are placed in real text, beside edited ones that do not, and each phrase is
searched over all of it. Hits that overlap the placed span by half say the phrase. Others do not,
but those that are as near as the right one, or very near, are left out, since nobody has read them.
In ContractNLI's training part, readers marked the clauses that say a phrase.

No text of benchmarks/natural is in it: dialogues are of other customers, contracts of CUAD's
training part, web texts those that benchmark leaves, and there are no meetings.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from recipes.verifier_parts.contrast_rows import (
    ContrastRow,
    by_phrase,
    claim_row,
    read_rows,
    sampled_rows,
    write_rows,
)
from recipes.verifier_parts.read_hits import searched_texts
from slice_os import Corpus, Document, Hit, SpanEncoder
from slice_os.query.options import SearchOptions
from slice_os.search.run import make_query, search
from slice_os.text.sentences import sentence_ends
from slice_os.verifier.claims import claim_of

KINDS = ("dialogues", "calls", "contracts", "web")
# Sets with phrases of their own; of two phrases one is of Tatoeba.
TATOEBA = "tatoeba"
OTHERS = (
    *("answers", "snli", "sgd", "perspectrum", "argkp", "nlupp", "advising", "fever-claims"),
    *("cad-nli", "impli", "hwu64", "clinc150", "dstc11-intents", "meanings"),
)
TEXTS, PASSAGE_WORDS, WORDS = 240, range(30, 91), range(3, 22)
RANKS = (*range(8), 11, 17, 26, 38)
EDITED, EMPTY = 0.6, 0.25  # shares: phrases with an edited span, too; texts with nothing placed
TOO_NEAR = 0.8
CONTRACT_RANKS, LEAST_WORDS = range(6), 5

Span = tuple[str, int, int]


def passages(data: Path) -> dict[str, list[str]]:
    """Texts of 30 to 90 words, by kind."""
    found: dict[str, list[str]] = {}
    for kind in KINDS:
        texts = searched_texts(data, kind)
        found[kind] = sorted({text for text in texts if len(text.split()) in PASSAGE_WORDS})
    return found


def phrases(rows: Iterable[ContrastRow], rng: Random) -> list[list[ContrastRow]]:
    """Rows by phrase, of phrases that some span says, in random order."""

    def fits(row: ContrastRow) -> bool:
        lengths = len(row.phrase.split()), len(row.text[row.start : row.end].split())
        return row.source in (TATOEBA, *OTHERS) and all(words in WORDS for words in lengths)

    groups = by_phrase(filter(fits, rows)).values()
    said = [some for some in groups if any(row.says for row in some)]
    rng.shuffle(said)
    everyday = [some for some in said if some[0].source == TATOEBA]
    others = [some for some in said if some[0].source != TATOEBA]
    return [one for pair in zip(everyday, others, strict=False) for one in pair]


def placed(
    texts: Sequence[str], found: Iterator[list[ContrastRow]], rng: Random
) -> tuple[list[Document], dict[str, list[tuple[Span, ContrastRow]]]]:
    """Texts with spans placed in most of them, and where these are, by phrase."""
    documents: list[Document] = []
    spans: dict[str, list[tuple[Span, ContrastRow]]] = defaultdict(list)
    waiting: list[ContrastRow] = []
    for number, text in enumerate(texts):
        if not waiting:
            rows = next(found)
            waiting = [rng.choice([row for row in rows if row.says])]
            wrong = [row for row in rows if not row.says and row.kind != "random"]
            waiting += [rng.choice(wrong)] if wrong and rng.random() < EDITED else []
            rng.shuffle(waiting)
        doc_id = str(number)
        if rng.random() < EMPTY:
            documents.append(Document(doc_id, text))
            continue
        row = waiting.pop()
        words = row.text[row.start : row.end].strip()
        at = rng.choice([0, *sentence_ends(text)])
        before = text[:at] + (" " if at and not text[at - 1].isspace() else "")
        sentence = words[:1].upper() + words[1:]
        sentence += "" if sentence.endswith((".", "!", "?")) else "."
        documents.append(Document(doc_id, f"{before}{sentence} {text[at:]}".rstrip()))
        spans[row.phrase].append(((doc_id, len(before), len(before) + len(words)), row))
    return documents, spans


def hits_of(
    encoder: SpanEncoder,
    documents: Iterable[Document],
    wanted: Iterable[str],
    ranks: Sequence[int],
) -> Iterator[list[Hit]]:
    """The hits of each phrase, at some ranks by cosine."""
    options = SearchOptions(top_k=max(ranks) + 1, fusion="cosine")
    with TemporaryDirectory() as folder, Corpus(Path(folder) / "s", encoder) as corpus:
        corpus.add(documents)
        for phrase in wanted:
            query = make_query(encoder, phrase, word_vectors=True)
            hits = list(search(corpus.store, query, options))
            yield [hits[rank] for rank in ranks if rank < len(hits)]


def placed_rows(
    encoder: SpanEncoder, texts: Sequence[str], found: Iterator[list[ContrastRow]], rng: Random
) -> Iterator[ContrastRow]:
    """Hits of phrases over texts in which they are placed."""
    documents, spans = placed(texts, found, rng)
    for own, hits in zip(spans.values(), hits_of(encoder, documents, spans, RANKS), strict=True):
        right = [
            hit.cosine
            for hit in hits
            for span, row in own
            if row.says and _shared(hit, span) >= 0.5
        ]
        least = min([TOO_NEAR, *right])
        for hit in hits:
            over = [row for span, row in own if _shared(hit, span) >= 0.5]
            part = any(row.says and _shared(hit, span) > 0 for span, row in own)
            if over:
                yield hit_row(hit, over[0].says, over[0].kind, "found")
            elif part or hit.cosine < least:
                yield hit_row(hit, False, "near", "found")


def contract_rows(
    data: Path, encoder: SpanEncoder, count: int, rng: Random
) -> Iterator[ContrastRow]:
    """Hits of ContractNLI's phrases in some of its training contracts."""
    path = data / "contract-nli" / "train_truncated.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        content = json.load(stream)
    contracts = content["documents"]
    for contract in rng.sample(contracts, min(count, len(contracts))):
        (annotated,) = contract["annotation_sets"]
        judged = {
            content["labels"][label]["hypothesis"]: one
            for label, one in annotated["annotations"].items()
        }
        found = hits_of(encoder, [Document("0", contract["text"])], judged, CONTRACT_RANKS)
        for one, hits in zip(judged.values(), found, strict=True):
            marked = [contract["spans"][number] for number in one["spans"]]
            for hit in hits:
                own = hit.span or hit
                inside = any(start - 2 <= own.start and own.end <= end + 2 for start, end in marked)
                says = inside and one["choice"] == "Entailment"
                if says and len(contract["text"][own.start : own.end].split()) < LEAST_WORDS:
                    continue
                denied = inside and one["choice"] == "Contradiction"
                yield hit_row(hit, says, "modality" if denied else "near", "found-contracts")


def hit_row(hit: Hit, says: bool, kind: str, source: str) -> ContrastRow:
    """A hit in its sentence."""
    return claim_row(claim_of(hit), says, kind, source)


def _shared(hit: Hit, span: Span) -> float:
    """The share of the longer of both that is common."""
    own = hit.span or hit
    common = min(own.end, span[2]) - max(own.start, span[1])
    longer = max(own.end - own.start, span[2] - span[1])
    return max(0, common) / longer if hit.doc_id == span[0] else 0.0


def main() -> None:
    """Find hits, and write them with contrasts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("contrasts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--hits", type=int, default=60_000)
    parser.add_argument("--contracts", type=int, default=250, help="of ContractNLI")
    parser.add_argument("--kept", type=int, default=135_000, help="contrasts that stay, by phrase")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, encoder = Random(options.seed), SpanEncoder()  # noqa: S311
    contrasts = list(read_rows(options.contrasts))
    found = iter(phrases(contrasts, rng))
    made = list(contract_rows(options.data, encoder, options.contracts, rng))
    texts = passages(options.data)
    for some in texts.values():
        rng.shuffle(some)
    while len(made) < options.hits and texts:
        for kind in list(texts):
            some, texts[kind] = texts[kind][:TEXTS], texts[kind][TEXTS:]
            if len(some) < TEXTS:
                del texts[kind]
            made += placed_rows(encoder, some, found, rng)
        print(f"{len(made):,} hits", flush=True)
    kept = sampled_rows(contrasts, options.kept, rng)
    write_rows([*kept, *made], options.out)
    print(f"{options.out}: {len(kept):,} contrasts, {len(made):,} hits")


if __name__ == "__main__":
    main()

"""Real sentences for contrasts: pairs that say the same, and sentences by themselves."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from slice_os.datasets.files import DataSource
from slice_os.text.sentences import sentence_ends
from slice_os.training.examples.formats import joined

from .frames import Statement

TATOEBA = DataSource("pairs of English sentences, separated by a tab", "https://tatoeba.org")
SNLI = DataSource(
    "a table of label, premise and hypothesis", "https://nlp.stanford.edu/projects/snli"
)
CONTRACT_NLI = DataSource("ContractNLI", "https://stanfordnlp.github.io/contract-nli")
CLINC = DataSource("CLINC150's data_full.json", "https://github.com/clinc/oos-eval")
BITEXT = DataSource("a table with the columns utterance and intent", "https://github.com/bitext")
DIALOGUES = DataSource(
    'JSON Lines of {"turns": [{"text"}]}',
    "https://github.com/google-research-datasets/dstc8-schema-guided-dialogue",
)
CUAD = DataSource("contracts with a field text", "https://www.atticusprojectai.org/cuad")

_NLI = {"entailment": (True, "paraphrase"), "neutral": (False, "near")}
_PERSON = re.compile(
    r"\b(?:i|you|we|they|he|she|my|your|his|her|our|their|tom|mary)\b", re.IGNORECASE
)
_WORDS = range(4, 40)


def translated_pairs(folder: Path) -> Iterator[tuple[str, str]]:
    """Pairs of sentences with one translation, without those that speak of other persons."""
    lines = TATOEBA.text(folder / "tatoeba-pivot-paraphrases/pairs.tsv.gz").splitlines()
    pairs = [line.split("\t", 1) for line in lines if "\t" in line]
    more = TATOEBA.json_lines(folder / "tatoeba-pivot-paraphrases-2/pairs.jsonl.gz")
    pairs += [[row.text("phrase"), row.text("text")] for row in more]
    for first, second in pairs:
        persons = [frozenset(_PERSON.findall(text.lower())) for text in (first, second)]
        if second and persons[0] == persons[1] and '"' not in first + second:
            yield first, second


def snli_statements(path: Path) -> Iterator[Statement]:
    """Hypotheses as phrases, premises as what may say them; contradictions are ``antonym``."""
    columns = ("label", "premise", "hypothesis")
    rows = SNLI.table(path, columns, separator="\t", quoted=False, header=False)
    for row in rows:
        label = row.text("label")
        premise, hypothesis = (joined(row.text(name)) for name in columns[1:])
        if label in (*_NLI, "contradiction"):
            says, kind = _NLI.get(label, (False, "antonym"))
            yield Statement(hypothesis, premise, says, kind, "snli")


def contract_statements(path: Path) -> Iterator[Statement]:
    """The hypotheses of ContractNLI and what its contracts say of them.

    A span that contradicts a hypothesis differs in ``modality``, the sentences that neither
    support nor contradict it are ``near``.
    """
    content = CONTRACT_NLI.json(path)
    for document in content["documents"]:
        (annotated,) = document["annotation_sets"]
        for label, judged in annotated["annotations"].items():
            phrase = content["labels"][label]["hypothesis"]
            spans = [document["text"][slice(*span)] for span in document["spans"]]
            for number, span in enumerate(spans):
                if not 5 <= len(span.split()) <= 60:
                    continue
                if number in judged["spans"]:
                    says = judged["choice"] == "Entailment"
                    kind = "paraphrase" if says else "modality"
                    yield Statement(phrase, span, says, kind, "contract-nli")
                elif number % 23 == 0:
                    yield Statement(phrase, span, False, "near", "contract-nli")


def clinc_intents(path: Path) -> dict[str, list[str]]:
    """The training utterances of CLINC150 by intent."""
    return _by_intent(CLINC.json(path)["train"])


def bitext_intents(path: Path) -> dict[str, list[str]]:
    """The utterances of Bitext's customer support set by intent."""
    rows = BITEXT.table(path, ("utterance", "intent"))
    return _by_intent((row.text("utterance"), row.text("intent")) for row in rows)


def dialogue_turns(path: Path) -> Iterator[str]:
    """Sentences that people say in dialogues."""
    for row in DIALOGUES.json_lines(path):
        for turn in row.values["turns"]:
            yield from _sentences(turn["text"])


def contract_sentences(path: Path, split: str = "train") -> Iterator[str]:
    """Sentences of the contracts in one part of CUAD."""
    for row in CUAD.json_lines(path):
        if row.values.get("thirdparty_split") == split:
            yield from _sentences(row.text("text"))


def _by_intent(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    intents: dict[str, list[str]] = defaultdict(list)
    for utterance, intent in rows:
        intents[intent].append(utterance)
    return dict(intents)


def _sentences(text: str) -> Iterator[str]:
    for start, end in itertools.pairwise([0, *sentence_ends(text)]):
        sentence = " ".join(text[start:end].split())
        if len(sentence.split()) in _WORDS:
            yield sentence

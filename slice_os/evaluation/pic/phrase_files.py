"""Files of Phrase-in-Context (Pham et al., 2023), in full and as published samples.

Phrase similarity (PS) has pairs of sentences; phrase retrieval (PR) and phrase sense disambiguation
(PSD) have documents with one gold phrase each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slice_os.datasets.files import DataSource
from slice_os.errors import InputError

HOME = "https://phrase-in-context.github.io"
PAIRS = DataSource('PiC PS, {"data": [{phrase1, phrase2, sentence1, sentence2, label}]}', HOME)
QUESTIONS = DataSource(
    'PiC PR or PSD, {"data": [{query, context, answers: {text, answer_start}}]}', HOME
)
TASKS = ("ps", "pr", "psd")
SPLITS = {"train": ("train",), "dev": ("dev", "validation", "valid"), "test": ("test",)}

_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_LABELS = {"positive": True, "negative": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True)
class PhrasePair:
    """Two phrases, each in its sentence, and whether they mean the same there."""

    phrase1: str
    sentence1: str
    phrase2: str
    sentence2: str
    similar: bool


@dataclass(frozen=True, slots=True)
class PhraseQuestion:
    """A query phrase, and the phrase of a document, its context, that it paraphrases.

    ``subset`` is the part of the set that it comes from, such as ``PR-pass``; empty if unknown.
    """

    query: str
    context: str
    answer: str
    start: int
    subset: str = ""

    @property
    def place(self) -> tuple[int, int]:
        """Start and end of the answer in the document, in code points."""
        return self.start, self.start + len(self.answer)


def find_splits(folder: Path, task: str) -> dict[str, Path]:
    """The files of a task in a folder, by split.

    A file belongs to a split if its name contains the split as a word (``ps_train.json``,
    ``dev-hard-v2.0.1.json``, ``validation.jsonl``). If some files are named after tasks
    (``ps_…``, ``pr_…``, ``psd_…``), only those of this task count; if the only one of them names
    no split, it is the test split.

    Raises an `InputError` if the folder is missing, has no file of the task, or several of a split.
    """
    source = PAIRS if task == "ps" else QUESTIONS
    if not folder.is_dir():
        raise source.missing(folder)
    files = sorted(path for path in folder.iterdir() if path.name.endswith(_SUFFIXES))
    words = {path: re.findall(r"[a-z]+", path.name.lower()) for path in files}
    named = any(task in words[path][:1] for path in files for task in TASKS)
    if named:
        files = [path for path in files if words[path][:1] == [task]]
    splits: dict[str, Path] = {}
    for split, names in SPLITS.items():
        found = [path for path in files if set(names) & set(words[path])]
        if len(found) > 1:
            listed = ", ".join(path.name for path in found)
            raise InputError(f"{folder}: several files for the {split} split ({listed}); keep one")
        if found:
            splits[split] = found[0]
    if named and not splits and len(files) == 1:
        splits["test"] = files[0]
    if not splits:
        raise source.malformed(folder, f"no file of {task.upper()} with a split in its name")
    return splits


def load_pairs(path: Path) -> tuple[PhrasePair, ...]:
    """A split of PiC PS: ``{"data": [{phrase1, phrase2, sentence1, sentence2, label}]}``.

    A bare list and JSON Lines are read as well; labels are ``positive`` and ``negative``, or 1
    and 0.
    """
    pairs = []
    for row in PAIRS.json_records(path):
        phrase1, sentence1, phrase2, sentence2 = (
            row.text(name) for name in ("phrase1", "sentence1", "phrase2", "sentence2")
        )
        label = str(row.values.get("label"))
        if label not in _LABELS:
            raise row.malformed(f"the label is {label!r:.40}")
        pairs.append(PhrasePair(phrase1, sentence1, phrase2, sentence2, _LABELS[label]))
    return tuple(pairs)


def load_questions(path: Path) -> tuple[PhraseQuestion, ...]:
    """A file of PiC PR or PSD.

    Rows are ``{query, context, answers: {text: [...], answer_start: [...]}}``, as on Hugging
    Face, or nested paragraphs and questions as in SQuAD, or samples of PSD ``{query, passages:
    [{text, phrase, start}, …], gold_passage}``. Passages of PSD are joined by an empty line (PiC,
    section 4.3); a sample is left out if its gold passage is unknown.
    """
    questions = []
    for row in QUESTIONS.json_records(path):
        subset = str(row.values.get("config", ""))
        try:
            for query, context, answer, start in _questions(row.values):
                for text in (query, context, answer):
                    if not isinstance(text, str) or not text.strip():
                        raise row.malformed(f"{text!r:.40} is no query, context or answer")
                if start < 0 or not context.startswith(answer, start):
                    raise row.malformed(f"no answer at {start}")
                questions.append(PhraseQuestion(query, context, answer, start, subset))
        except (LookupError, TypeError) as error:
            raise row.malformed(f"lacks fields ({error})") from None
    return tuple(questions)


def find_phrase(phrase: str, text: str) -> tuple[int, int] | None:
    """The first verbatim occurrence of a phrase in a text, preferably as whole words."""
    whole = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)
    start = whole.start() if whole else text.find(phrase)
    return (start, start + len(phrase)) if start >= 0 else None


def _questions(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str, int]]:
    """Query, context, answer and its start of each question that a row holds."""
    if "paragraphs" in row:
        for paragraph in row["paragraphs"]:
            for question in paragraph["qas"]:
                yield from _questions({"context": paragraph["context"], **question})
    elif "passages" not in row:
        answers = row["answers"]
        first = answers[0] if isinstance(answers, list) else None
        yield (
            row["query"] if "query" in row else row["question"],
            row["context"],
            first["text"] if first else answers["text"][0],
            first["answer_start"] if first else answers["answer_start"][0],
        )
    elif row["gold_passage"] is not None:
        texts = [passage["text"] for passage in row["passages"]]
        gold = row["passages"][row["gold_passage"]]
        before = sum(len(text) + 2 for text in texts[: row["gold_passage"]])
        yield row["query"], "\n\n".join(texts), gold["phrase"][0], before + gold["start"][0]

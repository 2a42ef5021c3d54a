from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("torch", reason="training needs the extra `train`")

from recipes.verifier_parts.answers import answered
from recipes.verifier_parts.frames import Statement
from recipes.verifier_parts.from_text import from_intents, with_edits
from recipes.verifier_parts.labelled import labelled_pairs, meaning_contrasts
from recipes.verifier_parts.placed_rows import placed_rows
from slice_os import InputError

VERBS = frozenset({"cancel", "like", "arrive"})


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return path


def pair(phrase: str, text: str, label: str) -> dict[str, Any]:
    return {"phrase": phrase, "text": text, "says": label == "entailment", "label": label}


def test_false_pairs_get_the_kind_that_sets_them_apart(tmp_path: Path) -> None:
    path = write(
        tmp_path / "cannot" / "pairs.jsonl.gz",
        pair("he came", "he turned up", "entailment"),
        pair("he came", "he did not come", "contradiction"),
        pair("he paid 5 pounds", "he paid 6 pounds", "contradiction"),
        pair("he came early", "he came late", "contradiction"),
        pair("he came", "he lives here", "neutral"),
    )
    found = [(one.says, one.kind) for one in labelled_pairs(path)]
    assert found == [
        (True, "paraphrase"),
        *((False, kind) for kind in ("negation", "numbers", "antonym", "near")),
    ]


def test_a_pair_without_text_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "flute" / "pairs.jsonl.gz", {"phrase": "a", "says": True})
    with pytest.raises(InputError, match="line 1: 'text' is None"):
        list(labelled_pairs(path))


def test_meanings_give_one_that_holds_and_two_that_do_not(tmp_path: Path) -> None:
    row = {"phrase": "34 laptops", "yes": "laptops: 34", "no": "48 laptops", "kind": "number"}
    found = meaning_contrasts(write(tmp_path / "contrasts.jsonl.gz", row))
    assert [(one.says, one.kind) for one in found] == [
        (True, "paraphrase"),
        (False, "numbers"),
        (False, "numbers"),
    ]


def test_utterances_of_another_intent_do_not_say_it() -> None:
    intents = {"cancel": ["cancel it", "stop my plan"], "pay": ["pay it"], "": ["what", "why"]}
    for one in islice(from_intents(intents, "set", Random(1)), 40):
        assert {one.phrase} < set(intents["cancel"])
        assert (one.wording in intents["cancel"]) == one.says


def test_edited_pairs_do_not_hold_and_tell_the_words() -> None:
    held = Statement("she came", "she will arrive today", True, "paraphrase", "set")
    rows = list(placed_rows(with_edits([held] * 40, 1.0, VERBS, Random(2)), [], 0.0, Random(3)))
    edited = [row for row in rows if not row.says]
    assert edited
    for row in edited:
        assert row.against is not None
        said = [row.text[start:end].lower() for start, end in row.against]
        assert all(words and words != held.wording for words in said)
    assert all(row.against == () for row in rows if row.says)


def test_short_answers_are_read_after_their_question() -> None:
    statements = list(answered([("you can cancel it", "You can cancel it.")], VERBS, Random(4)))
    assert {one.before for one in statements} == {"Can I cancel it?"}
    (row, *_) = placed_rows(statements, [], 1.0, Random(5))
    assert row.text.startswith("Can I cancel it? ")
    assert row.text[row.start : row.end] in statements[0].wording

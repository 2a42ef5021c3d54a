"""Made contrasts: clauses in every mode, edits of real sentences, rows that can be read back."""

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
from recipes.verifier_parts.clauses import Clause, Party, clause, party
from recipes.verifier_parts.contrast_rows import KINDS, ContrastRow, read_rows, write_rows
from recipes.verifier_parts.edits import ask, change_number, deny, move_in_time, oppose, swap_roles
from recipes.verifier_parts.frames import Statement, made_statements
from recipes.verifier_parts.from_text import from_intents, with_edits
from recipes.verifier_parts.inflection import gerund, participle, past, third
from recipes.verifier_parts.labelled import labelled_pairs, meaning_contrasts
from recipes.verifier_parts.lexicon import lexicon
from recipes.verifier_parts.placed_rows import placed_rows
from slice_os.errors import InputError

VERBS = frozenset(["like", "go", "want", "call", "see", "know", "take", "have", "pay", "work"])


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("go", "goes went gone going"),
        ("carry", "carries carried carried carrying"),
        ("stop", "stops stopped stopped stopping"),
        ("be", "is was been being"),
        ("lie", "lies lay lain lying"),
        ("take over", "takes over took over taken over taking over"),
    ],
)
def test_verbs_have_their_forms(verb: str, forms: str) -> None:
    assert " ".join((third(verb), past(verb), participle(verb), gerund(verb))) == forms


@pytest.mark.parametrize(
    ("wording", "filled"),
    [
        ("{S} {past_nt}", "she didn't sell the car to him"),
        ("{past_q}?", "did she sell the car to him?"),
        ("{S} {pres:be} prohibited from {ger}", "she is prohibited from selling the car to him"),
        ("it is mandatory for {O} to {base}", "it is mandatory for her to sell the car to him"),
        ("{S} {pres:have} already {part}", "she has already sold the car to him"),
    ],
)
def test_a_clause_fills_wordings(wording: str, filled: str) -> None:
    assert Clause(Party("she", "her"), "sell", "the car to him").fill(wording) == filled


def test_a_passive_agrees_with_its_theme() -> None:
    parties = {"A": party("I"), "B": party("Tom"), "T": party("the keys")}
    sold = clause("T +sell to B by A", parties)
    assert sold.fill("{S} {past_not}") == "the keys were not sold to Tom by me"
    assert sold.fill("{past_q}?") == "were the keys sold to Tom by me?"


def test_every_mode_and_pattern_is_filled() -> None:
    modes = lexicon().modes
    assert {mode for *both, _ in lexicon().contrasted for mode in both} <= modes.keys()
    parties = {"A": party("we"), "B": party("Anna"), "T": party("it")}
    patterns = [one for each in lexicon().relations for one in (*each.says, *each.opposed)]
    clauses = [clause(pattern, parties) for pattern in patterns]
    for wordings in modes.values():
        for wording in wordings:
            assert "{" not in clauses[0].fill(wording)
    for each in clauses:
        assert each.fill("{S} {past}")[0].islower() or each.subject.subject == "Anna"


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (deny, "You didn't pay.", "You paid."),
        (deny, "I can't see it.", "I can see it."),
        (ask, "Are you married?", "You are married."),
        (ask, "He likes tea.", "Does he like tea?"),
        (move_in_time, "I will call you.", "I called you."),
        (move_in_time, "She went home.", "She will go home."),
        (swap_roles, "I know you are my friend.", "You know I am your friend."),
        (swap_roles, "The Licensor pays the Licensee.", "The Licensee pays the Licensor."),
        (oppose, "It is a cheap phone.", "It is a expensive phone."),
    ],
)
def test_edits_change_what_is_said(edit, before: str, after: str) -> None:  # type: ignore[no-untyped-def]
    found = edit(before, VERBS, Random(0))
    assert found is not None
    assert found[0] == after


def test_a_changed_number_is_another() -> None:
    for seed in range(30):
        changed = change_number("Pay 100 euros by 7 May.", VERBS, Random(seed))
        assert changed is not None
        assert changed[0] != "Pay 100 euros by 7 May."


def test_made_statements_are_the_same_for_a_seed_and_have_both_labels() -> None:
    made = list(made_statements(600, Random(3)))
    assert made == list(made_statements(600, Random(3)))
    for kind in ("negation", "roles", "numbers", "tense", "question", "modality", "antonym"):
        assert {one.says for one in made if one.kind == kind} == {True, False}, kind


def test_rows_can_be_read_back(tmp_path: Path) -> None:
    rows = [ContrastRow("ä phrase", "A text ä", 2, 6, True, kind, "frames") for kind in KINDS]
    write_rows(rows, tmp_path / "rows.jsonl")
    assert list(read_rows(tmp_path / "rows.jsonl")) == rows
    (tmp_path / "bad.jsonl").write_text('{"phrase": "a", "text": "b", "start": 1, "end": 9}\n')
    with pytest.raises(InputError, match="line 1"):
        list(read_rows(tmp_path / "bad.jsonl"))


KNOWN = frozenset({"cancel", "like", "arrive"})


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
    rows = list(placed_rows(with_edits([held] * 40, 1.0, KNOWN, Random(2)), [], 0.0, Random(3)))
    edited = [row for row in rows if not row.says]
    assert edited
    for row in edited:
        assert row.against is not None
        said = [row.text[start:end].lower() for start, end in row.against]
        assert all(words and words != held.wording for words in said)
    assert all(row.against == () for row in rows if row.says)


def test_short_answers_are_read_after_their_question() -> None:
    statements = list(answered([("you can cancel it", "You can cancel it.")], KNOWN, Random(4)))
    assert {one.before for one in statements} == {"Can I cancel it?"}
    (row, *_) = placed_rows(statements, [], 1.0, Random(5))
    assert row.text.startswith("Can I cancel it? ")
    assert row.text[row.start : row.end] in statements[0].wording

"""Made contrasts: clauses in every mode, edits of real sentences, rows that can be read back."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

pytest.importorskip("torch", reason="training needs the extra `train`")

from recipes.verifier_parts.clauses import Clause, Party, clause, party
from recipes.verifier_parts.contrast_rows import KINDS, ContrastRow, read_rows, write_rows
from recipes.verifier_parts.edits import (
    ask,
    change_number,
    deny,
    move_in_time,
    oppose,
    swap_roles,
)
from recipes.verifier_parts.frames import made_statements
from recipes.verifier_parts.inflection import gerund, participle, past, third
from recipes.verifier_parts.lexicon import lexicon
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

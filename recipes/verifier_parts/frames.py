"""Contrasts made from a lexicon of frames, in many wordings that share few words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from .clauses import Clause, Party, clause, party, two_parties
from .lexicon import Relation, State, lexicon

_ROLE_MODES = ("past", "past", "future", "present", "must", "may", "past not", "want", "ask past")
_OPENED = 0.12  # share of the wordings


@dataclass(frozen=True, slots=True)
class Statement:
    """A phrase, a wording, and whether that says the phrase; `ContrastRow` adds the text around.

    ``origin`` is a text that says the phrase, from which the wording was edited, if it was;
    ``before`` is what another person says first.
    """

    phrase: str
    wording: str
    says: bool
    kind: str
    source: str = "frames"
    origin: str = ""
    before: str = ""


def made_statements(count: int, rng: Random) -> Iterator[Statement]:
    """Statements from the lexicon: for each phrase, wordings that say it and others that do not."""
    makers = (_by_mode, _by_mode, _by_roles, _by_roles, _by_opposite, _by_amount, _by_bound)
    made = 0
    while made < count:
        for statement in rng.choice(makers)(rng):
            wording = statement.wording
            if rng.random() < _OPENED:
                wording = rng.choice(lexicon().openings) + wording
            if statement.phrase.lower() != wording.lower():
                made += 1
                yield replace(statement, wording=wording)


def _by_mode(rng: Random) -> Iterator[Statement]:
    """The same facts denied, in another time, only possible, or asked."""
    first, second, kind = rng.choice(lexicon().contrasted)
    people_only = not {first, second} <= set(lexicon().of_things)
    if rng.random() < 0.5:
        first, second = second, first
    one, other = _two_wordings(rng, people_only)
    phrase = one.form(first, rng)
    yield Statement(phrase, other.form(first, rng), True, kind)
    yield Statement(phrase, other.form(first, rng), True, kind)
    yield Statement(phrase, one.form(second, rng), False, kind, origin=phrase)
    yield Statement(phrase, rng.choice((one, other)).form(second, rng), False, kind)


def _by_roles(rng: Random) -> Iterator[Statement]:
    """The same parties in each other's place, in the same and in converse words."""
    relation = rng.choice(lexicon().relations)
    facts = _facts(relation, rng)
    swapped = facts | {"A": facts["B"], "B": facts["A"]}
    says = [one for one in relation.says if "A" in one and "B" in one.replace("'s", " ").split()]
    if len(says) < 2:
        return
    first, second = rng.sample(says, 2)
    third = rng.choice(relation.says)
    template = rng.choice(lexicon().modes[rng.choice(_ROLE_MODES)])
    phrase = clause(first, facts).fill(template)
    for pattern in dict.fromkeys((second, third)):
        if pattern != first:
            yield Statement(phrase, clause(pattern, facts).fill(template), True, "roles")
    for pattern in (first, second):
        wording = clause(pattern, swapped).fill(template)
        origin = clause(pattern, facts).fill(template)
        yield Statement(phrase, wording, relation.symmetric, "roles", origin=origin)


def _by_opposite(rng: Random) -> Iterator[Statement]:
    """The opposite, and the opposite denied."""
    opposites = [one for one in lexicon().relations if one.opposed]
    states = rng.sample(lexicon().states, 2)
    choices: list[Relation | State] = [rng.choice(opposites), *states]
    source = rng.choice(choices)
    says, opposed = source.says, source.opposed
    if rng.random() < 0.5:
        says, opposed = opposed, says
    make = _maker(source, rng)
    mode = rng.choice(("past", "future", "present", "past", "past not", "future not"))
    first, second = _two(says, rng)
    phrase = make(first).form(mode, rng)
    yield Statement(phrase, make(second).form(mode, rng), True, "antonym")
    yield Statement(phrase, make(rng.choice(opposed)).form(mode, rng), False, "antonym")
    if not mode.endswith(" not"):
        mode += " not"
        yield Statement(phrase, make(rng.choice(says)).form(mode, rng), False, "negation")
        if isinstance(source, State) and source.exact:
            yield Statement(phrase, make(rng.choice(opposed)).form(mode, rng), True, "antonym")


def _by_amount(rng: Random) -> Iterator[Statement]:
    """Another number, unit or date; and the same one, written otherwise."""
    one, other = _two_wordings(rng)
    mode = rng.choice(("past", "future", "must", "may", "present"))
    amounts = lexicon().amounts
    if rng.random() < 0.5:
        first, second = rng.choice(amounts.same)
        if rng.random() < 0.5:
            first, second = second, first
        wrong = rng.choice(rng.choice([pair for pair in amounts.same if first not in pair]))
    else:
        adjunct = rng.choice(amounts.adjuncts)
        number, another = rng.sample(range(2, 32), 2)
        if rng.random() < 0.4:
            number, another = number * 10, another * 10
        first = second = adjunct.format(n=number)
        wrong = adjunct.format(n=another)
    phrase = f"{one.form(mode, rng)} {first}"
    yield Statement(phrase, f"{other.form(mode, rng)} {second}", True, "numbers")
    yield Statement(phrase, f"{one.form(mode, rng)} {wrong}", False, "numbers")
    yield Statement(phrase, f"{other.form(mode, rng)} {wrong}", False, "numbers")


def _by_bound(rng: Random) -> Iterator[Statement]:
    """An upper bound for a lower one; and the same bound in other words."""
    one, other = _two_wordings(rng)
    mode = rng.choice(("past", "future", "must", "may"))
    amounts = lexicon().amounts
    number, unit = rng.randint(2, 95), rng.choice(amounts.units)
    first, second = rng.choice(amounts.same_bounds)
    amount = f"{number} {unit}"
    phrase = f"{one.form(mode, rng)}, {first.format(n=amount)}"
    wording = f"{other.form(mode, rng)}, {second.format(n=amount)}"
    yield Statement(phrase, wording, True, "numbers")
    bound, opposite = rng.choice(amounts.bounds)
    pattern = rng.choice(amounts.bounded)
    low, high = (pattern.format(b=b, n=number) for b in (bound, opposite))
    phrase = f"{one.form(mode, rng)} {low}"
    yield Statement(phrase, f"{other.form(mode, rng)} {low}", True, "numbers")
    yield Statement(phrase, f"{other.form(mode, rng)} {high}", False, "numbers")


def _two_wordings(rng: Random, people_only: bool = True) -> tuple[Clause, Clause]:
    """Two clauses that say the same in other words, of parties or also of things."""
    choices: list[Relation | State] = [*lexicon().relations]
    if not people_only:
        choices += lexicon().states
    source = rng.choice(choices)
    says = rng.choice((source.says, source.opposed or source.says))
    make = _maker(source, rng)
    first, second = _two(says, rng)
    return make(first), make(second)


def _two(patterns: Sequence[str], rng: Random) -> Sequence[str]:
    return rng.sample(patterns, 2) if len(patterns) > 1 else (patterns[0], patterns[0])


def _facts(relation: Relation, rng: Random) -> dict[str, Party]:
    ours, theirs = two_parties(relation, rng)
    return {"A": ours, "B": theirs, "T": party(rng.choice(relation.themes or ("it",)))}


def _maker(source: Relation | State, rng: Random) -> Callable[[str], Clause]:
    """From the patterns of a source to clauses about the same parties."""
    if isinstance(source, State):
        subject = {"S": party(rng.choice(source.of))}
        return lambda predicate: clause(f"S {predicate}", subject)
    facts = _facts(source, rng)
    return lambda pattern: clause(pattern, facts)

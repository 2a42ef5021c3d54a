"""Contrasts made from a lexicon of frames, in many wordings that share few words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from slice_os.training.contrasts.clauses import Clause
from slice_os.training.contrasts.lexicon import Relation, State, clause, lexicon, party, two_parties
from slice_os.training.contrasts.modes import CONTRASTED, MODES

_OPENINGS = (
    "well, ",
    "as I said, ",
    "so ",
    "and ",
    "you see, ",
    "to be clear, ",
    "by the way, ",
    "apparently ",
)
_ROLE_MODES = ("past", "past", "future", "present", "must", "may", "past not", "want", "ask past")
_OF_THINGS = frozenset(
    (
        "past",
        "past not",
        "future",
        "future not",
        "present",
        "present not",
        "might",
        "if",
        "unless",
        "ask past",
        "ask future",
    )
)
_DENIALS = {"past": "past not", "future": "future not", "present": "present not"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A phrase, a wording, and whether that says the phrase; `ContrastRow` adds the text around."""

    phrase: str
    wording: str
    says: bool
    kind: str
    source: str = "frames"


def made_statements(count: int, rng: Random) -> Iterator[Statement]:
    """Statements from the lexicon: for each phrase, wordings that say it and others that do not."""
    makers = (_by_mode, _by_mode, _by_roles, _by_roles, _by_opposite, _by_amount, _by_bound)
    made = 0
    while made < count:
        for statement in rng.choice(makers)(rng):
            if statement.phrase.lower() != statement.wording.lower():
                made += 1
                yield statement


def _by_mode(rng: Random) -> Iterator[Statement]:
    """The same facts denied, in another time, only possible, or asked."""
    first, second, kind = rng.choice(CONTRASTED)
    people_only = not _OF_THINGS.issuperset((first, second))
    if rng.random() < 0.5:
        first, second = second, first
    one, other = _two_wordings(rng, people_only)
    phrase = one.form(first, rng)
    yield Statement(phrase, _opened(other.form(first, rng), rng), True, kind)
    yield Statement(phrase, _opened(other.form(first, rng), rng), True, kind)
    yield Statement(phrase, _opened(one.form(second, rng), rng), False, kind)
    yield Statement(phrase, _opened(rng.choice((one, other)).form(second, rng), rng), False, kind)


def _by_roles(rng: Random) -> Iterator[Statement]:
    """The same parties in each other's place, in the same and in converse words."""
    relation = rng.choice(lexicon().relations)
    ours, theirs = two_parties(relation, rng)
    facts = {"A": ours, "B": theirs, "T": party(rng.choice(relation.themes or ("it",)))}
    swapped = facts | {"A": theirs, "B": ours}
    says = [one for one in relation.says if "A" in one and "B" in one.replace("'s", " ").split()]
    if len(says) < 2:
        return
    first, second = rng.sample(says, 2)
    third = rng.choice(relation.says)
    template = rng.choice(MODES[rng.choice(_ROLE_MODES)])
    phrase = clause(first, facts).fill(template)
    kind = "roles"
    yield Statement(phrase, _opened(clause(second, facts).fill(template), rng), True, kind)
    if third not in (first, second):
        yield Statement(phrase, _opened(clause(third, facts).fill(template), rng), True, kind)
    exchanged = relation.symmetric
    yield Statement(phrase, _opened(clause(first, swapped).fill(template), rng), exchanged, kind)
    other = clause(second, swapped).fill(template)
    yield Statement(phrase, _opened(other, rng), exchanged, kind)


def _by_opposite(rng: Random) -> Iterator[Statement]:
    """The opposite, and the opposite denied."""
    opposites = [one for one in lexicon().relations if one.opposed]
    states = rng.sample(lexicon().states, 2)
    choices: list[Relation | State] = [rng.choice(opposites), *states]
    source = rng.choice(choices)
    says, opposed = source.says, source.opposed
    if rng.random() < 0.5:
        says, opposed = opposed, says
    make = _Wordings(source, rng)
    mode = rng.choice(("past", "future", "present", "past", "past not", "future not"))
    first, second = (says[0], says[0]) if len(says) < 2 else rng.sample(says, 2)
    phrase = make(first).form(mode, rng)
    yield Statement(phrase, _opened(make(second).form(mode, rng), rng), True, "antonym")
    yield Statement(
        phrase, _opened(make(rng.choice(opposed)).form(mode, rng), rng), False, "antonym"
    )
    if mode in _DENIALS:
        denied = make(rng.choice(says)).form(_DENIALS[mode], rng)
        yield Statement(phrase, _opened(denied, rng), False, "negation")
        if isinstance(source, State) and source.exact:
            wording = make(rng.choice(opposed)).form(_DENIALS[mode], rng)
            yield Statement(phrase, _opened(wording, rng), True, "antonym")


def _by_amount(rng: Random) -> Iterator[Statement]:
    """Another number, unit or date; and the same one, written otherwise."""
    one, other = _two_wordings(rng, people_only=True)
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
    yield Statement(phrase, _opened(f"{other.form(mode, rng)} {second}", rng), True, "numbers")
    yield Statement(phrase, _opened(f"{one.form(mode, rng)} {wrong}", rng), False, "numbers")
    yield Statement(phrase, _opened(f"{other.form(mode, rng)} {wrong}", rng), False, "numbers")


def _by_bound(rng: Random) -> Iterator[Statement]:
    """An upper bound for a lower one; and the same bound in other words."""
    one, other = _two_wordings(rng, people_only=True)
    mode = rng.choice(("past", "future", "must", "may"))
    amounts = lexicon().amounts
    number, unit = rng.randint(2, 95), rng.choice(amounts.units)
    first, second = rng.choice(amounts.same_bounds)
    amount = f"{number} {unit}"
    phrase = f"{one.form(mode, rng)}, {first.format(n=amount)}"
    wording = f"{other.form(mode, rng)}, {second.format(n=amount)}"
    yield Statement(phrase, _opened(wording, rng), True, "numbers")
    bound, opposite = rng.choice(amounts.bounds)
    pattern = rng.choice(amounts.bounded)
    low, high = (pattern.format(b=b, n=number) for b in (bound, opposite))
    phrase = f"{one.form(mode, rng)} {low}"
    yield Statement(phrase, _opened(f"{other.form(mode, rng)} {low}", rng), True, "numbers")
    yield Statement(phrase, _opened(f"{other.form(mode, rng)} {high}", rng), False, "numbers")


def _two_wordings(rng: Random, people_only: bool) -> tuple[Clause, Clause]:
    """Two clauses that say the same in other words, of parties or also of things."""
    choices: list[Relation | State] = [*lexicon().relations]
    if not people_only:
        choices += lexicon().states
    source = rng.choice(choices)
    says = rng.choice((source.says, source.opposed or source.says))
    make = _Wordings(source, rng)
    first, second = rng.sample(says, 2) if len(says) > 1 else (says[0], says[0])
    return make(first), make(second)


class _Wordings:
    """Makes clauses of the patterns of one source about the same parties."""

    def __init__(self, source: Relation | State, rng: Random) -> None:
        if isinstance(source, State):
            self._parties = {"S": party(rng.choice(source.of))}
        else:
            ours, theirs = two_parties(source, rng)
            theme = party(rng.choice(source.themes or ("it",)))
            self._parties = {"A": ours, "B": theirs, "T": theme}

    def __call__(self, pattern: str) -> Clause:
        return clause(f"S {pattern}" if "S" in self._parties else pattern, self._parties)


def _opened(wording: str, rng: Random) -> str:
    """A wording, now and then after what people begin sentences with."""
    return rng.choice(_OPENINGS) + wording if rng.random() < 0.12 else wording

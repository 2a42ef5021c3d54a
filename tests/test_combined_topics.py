"""Combined topics: their files, what matches, on the command line too."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slice_os import Corpus, Document, InputError, SpanEncoder
from slice_os.combinations import match_topics
from slice_os.combinations.checks import lint, run_examples
from slice_os.combinations.matching import components, find_matches, sound
from slice_os.hits.hit import Context, Hit
from slice_os.labels.label import Label
from slice_os.search.around import Turn
from slice_os.stores.candidates import ScoredCandidates
from slice_os.stores.protocol import Store
from slice_os.text.documents import Extent, Metadata, Segment
from slice_os.threads import CHECKPOINT
from slice_os.topics import Match, Topic, read_topics
from slice_os.topics.combination import Combination, Length, Part
from slice_os.topics.files import parse_topic
from slice_os.topics.learning import learn
from slice_os.topics.run import mine_topics
from slice_os.topics.table import topic_text
from slice_os.verifier.bundled import BundledVerifier
from slice_os.verifier.claims import Claim, Verdicts

from .command_line import Run

EXAMPLES = Path(__file__).parents[1] / "examples" / "topics"
CANCEL = Topic("cancel", ("I want to cancel my subscription", "please end my plan"), threshold=0.7)
OFFER = Topic("offer", ("we can offer you a discount", "I can give you a better price"))
LOST = Topic(
    "lost",
    combination=Combination(
        all=(Part("cancel", speaker="customer"),),
        none=(Part("offer", after="cancel", within=Length(3, "turns")),),
    ),
)


def call(doc_id: str, *said: tuple[str, str, float], **metadata: Any) -> Document:
    """A conversation of speakers, words and seconds."""
    text, segments = "", []
    for speaker, words, time in said:
        segments.append(Segment(len(text), len(text) + len(words), speaker, time))
        text += f"{words}\n"
    return Document(doc_id, text, metadata, tuple(segments))


@pytest.fixture(scope="module")
def calls(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with Corpus(tmp_path_factory.mktemp("calls") / "calls.slice", encoder) as corpus:
        corpus.add(
            [
                call(
                    "kept",
                    ("agent", "Good morning.", 0),
                    ("customer", "I want to cancel my subscription.", 8),
                    ("agent", "We can offer you a discount if you stay.", 15),
                    who="ann",
                    date="2026-03-02",
                ),
                call(
                    "lost",
                    ("agent", "We can offer you a discount this week.", 0),
                    ("customer", "Please end my plan.", 8),
                    ("agent", "Fine, it is done.", 15),
                    who="ann",
                    date="2026-03-03",
                ),
                call(
                    "other", ("customer", "My screen is broken.", 0), who="bob", date="2026-03-03"
                ),
            ]
        )
        yield corpus


def test_what_a_document_has_and_lacks(calls: Corpus) -> None:
    (match,) = match_topics(calls, [CANCEL, OFFER, LOST])
    assert (match.topic, match.place, match.doc_ids) == ("lost", "lost", ("lost",))
    assert [hit.text for hit in match.evidence] == ["Please end my plan"]
    assert match.metadata["who"] == "ann"
    (lack,) = match.lacks
    assert lack.nearest is not None
    assert lack.nearest.text.startswith("We can offer you a discount")


def test_documents_without_any_hit(calls: Corpus) -> None:
    silent = Topic("silent", combination=Combination(none=(Part("cancel"),)))
    assert [match.doc_id for match in match_topics(calls, [CANCEL, silent])] == ["other"]


def test_what_most_surely_lacks_it_comes_first(calls: Corpus) -> None:
    cancel = replace(CANCEL, threshold=None, min_probability=0.9999)
    silent = Topic("silent", combination=Combination(none=(Part("cancel"),)))
    found = list(match_topics(calls, [cancel, silent]))
    assert {match.doc_id for match in found} == {"kept", "lost", "other"}
    assert found[0].doc_id == "other"
    assert [match.lacks[0].finding for match in found] == ["lacks", "unsure", "unsure"]
    likely = [near.probability or 0.0 for match in found[1:] if (near := match.lacks[0].nearest)]
    assert likely == sorted(likely)
    assert [Match.from_dict(match.to_dict()).lacks[0].finding for match in found] == [
        match.lacks[0].finding for match in found
    ]


class Scattered:
    """A store whose passages do not come document by document."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def scan(self, *asked: Any, **named: Any) -> Iterator[ScoredCandidates]:
        for found in self._store.scan(*asked, **named):
            columns = np.arange(len(found.keys))
            yield found.select(np.concatenate([columns[::2], columns[1::2]]))


def test_no_match_is_lost_if_documents_are_scattered(encoder: SpanEncoder, tmp_path: Path) -> None:
    said = "Please end my plan today, I have no more need of it. " * 2
    made = "We can offer you a discount of ten percent this week. " * 2
    both = Topic("both", combination=Combination(all=(Part("cancel"), Part("offer"))))
    with Corpus(tmp_path / "store", encoder, max_pieces=32) as corpus:
        corpus.add(Document(name, said + made) for name in ("a", "b", "c"))
        expected = list(match_topics(corpus, [CANCEL, OFFER, both]))
        assert [match.place for match in expected] == ["a", "b", "c"]
        with Corpus(Scattered(corpus.store), encoder) as scattered:
            found = list(match_topics(scattered, [CANCEL, OFFER, both]))
    assert sorted(found, key=lambda match: match.place) == expected


@pytest.mark.parametrize(
    ("per", "part", "places"),
    [
        ("who", Part("cancel", documents=2), ["ann"]),
        ("who", Part("cancel", documents=3), []),
        ("who", Part("offer", after="cancel"), ["ann"]),
        ("who", Part("offer", after="cancel", documents=2), []),
        ("turn", Part("cancel"), ["kept", "lost"]),
        ("document", Part("offer", first=Length(5, "seconds")), ["lost"]),
        ("document", Part("offer", last=Length(1, "turns")), ["kept"]),
        ("document", Part("cancel", asked=True), []),
    ],
)
def test_what_matches_as_a_whole(calls: Corpus, per: str, part: Part, places: list[str]) -> None:
    topic = Topic("t", combination=Combination(all=(part,), per=per))
    matches = list(match_topics(calls, [CANCEL, OFFER, topic]))
    assert [match.place for match in matches] == places
    assert all((match.turn is not None) == (per == "turn") for match in matches)


def test_conditions_on_metadata(calls: Corpus) -> None:
    content = b'where = { who = "bob" }\nnone = ["cancel"]'
    topic, problems = parse_topic(content, "t")
    assert topic is not None
    assert not problems
    assert [match.doc_id for match in match_topics(calls, [CANCEL, topic])] == ["other"]
    anybody = Topic("t", combination=Combination(none=(Part("offer"),)))
    asked = match_topics(calls, [OFFER, anybody], where={"who": "ann"})
    assert [match.doc_id for match in asked] == []
    asked = match_topics(calls, [OFFER, anybody], where={"_id": ["other", "lost"]})
    assert [match.doc_id for match in asked] == ["other"]


FULL = """\
description = "All keys."
per = "customer"
all = ["cancel", { topic = "offer", speaker = "agent", asked = true, times = 2, documents = 2 }]
any = [{ topic = "a", first = "20 seconds" }, { topic = "b", last = "1 turn" }]
none = [{ topic = "c", after = "cancel", within = "2 sentences" }, { topic = "d", near = "a" }]
must_match = ["agent: hello\\ncustomer: bye"]
"""


def test_a_file_that_is_written_is_read_as_the_same_topic() -> None:
    topic, problems = parse_topic(FULL.encode(), "full")
    assert topic is not None
    assert not problems
    assert parse_topic(topic_text(topic).encode(), "other") == (topic, [])
    assert topic.combination is not None
    assert topic.combination.topics == ("cancel", "offer", "a", "b", "c", "d")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('all = "cancel"', "all: give a list of topics"),
        ("all = []", "all: give a list of topics"),
        ('all = [{ speaker = "x" }]', "give the name of a topic"),
        ('all = [{ topic = "x", spaeker = "y" }]', "unknown key spaeker; did you mean speaker?"),
        ('all = [{ topic = "x", first = "20 s" }]', "x: first: '20 s': give \"20 seconds\""),
        ('all = [{ topic = "x", times = 0 }]', "all: x: times is 0; give 1 or more"),
        ('all = [{ topic = "x", asked = "yes" }]', "asked is 'yes'; give true or false"),
        ('all = [{ topic = "x", within = "1 turn" }]', "within of x: of what?"),
        ('all = [{ topic = "x", after = "a", near = "b" }]', "give one of after, before, near"),
        ('all = ["x"]\nphrases = ["y"]', "phrases: a combined topic has none"),
        ('all = ["x"]\nthreshold = 0.5', "threshold: a combined topic has none"),
        ('per = "turn"', "per: of what?"),
    ],
)
def test_errors_name_the_key(content: str, told: str) -> None:
    _, problems = parse_topic(content.encode(), "t")
    assert any(told in problem for problem in problems)


def test_topics_that_are_not_given() -> None:
    with pytest.raises(InputError, match="'offer' is not among these topics; there are cancel"):
        components([CANCEL, LOST])
    nested = Topic("nested", combination=Combination(all=(Part("lost"),)))
    with pytest.raises(InputError, match="'lost' is combined itself"):
        components([CANCEL, OFFER, LOST, nested])


@pytest.mark.parametrize(
    "parts",
    [
        (Part("cancel"), Part("offer", near="offer")),
        (Part("cancel", before="offer"), Part("offer", after="cancel")),
    ],
)
def test_what_is_placed_by_itself_is_told(calls: Corpus, parts: tuple[Part, ...]) -> None:
    circle = Topic("circle", combination=Combination(all=parts))
    with pytest.raises(InputError, match=r"'circle': \w+ is placed by itself"):
        list(match_topics(calls, [CANCEL, OFFER, circle]))
    usable, problems = sound([CANCEL, OFFER, LOST, circle])
    assert usable == [CANCEL, OFFER, LOST]
    assert list(problems) == ["circle"]


def test_a_combination_learns_nothing(encoder: SpanEncoder) -> None:
    label = Label("lost", "please end my plan", right=True)
    with pytest.raises(InputError, match="teach those that it names"):
        learn(LOST, [label], encoder)


def test_lint_finds_what_can_never_hold(calls: Corpus, tmp_path: Path) -> None:
    written = {
        "cancel": topic_text(CANCEL),
        "both": 'all = ["cancel"]\nnone = ["cancel"]',
        "alone": 'all = [{ topic = "cancel", documents = 2 }]',
        "turns": 'per = "turn"\nall = [{ topic = "cancel", first = "2 turns" }]',
        "round": 'all = [{ topic = "cancel", after = "cancel" }]',
        "gone": 'all = ["offer"]',
        "nobody": 'per = "whom"\nall = [{ topic = "cancel", speaker = "robot" }]',
    }
    for name, text in written.items():
        (tmp_path / f"{name}.toml").write_text(text)
    told = {problem.path.stem: problem.told for problem in lint([tmp_path], calls.encoder)}
    assert "in all, too" in told["both"]
    assert "never in several documents" in told["alone"]
    assert "no distance is in turns" in told["turns"]
    assert "placed by itself" in told["round"]
    assert "not among these topics" in told["gone"]
    stored = [problem.told for problem in lint([tmp_path], calls.encoder, calls)]
    assert any("has the field 'whom'" in one for one in stored)
    assert any(
        "'robot' says nothing in this store; there are customer, agent" in one for one in stored
    )


def test_examples_are_conversations(encoder: SpanEncoder) -> None:
    lost = replace(
        LOST,
        must_match=("agent: hello\ncustomer: please end my plan\nagent: goodbye",),
        must_not_match=(
            "agent: hello\ncustomer: please end my plan\nagent: we can offer a discount",
        ),
    )
    outcomes = [one for one in run_examples([CANCEL, OFFER, lost], encoder) if one.topic == "lost"]
    assert all(outcome.right for outcome in outcomes)
    assert next(one.why() for one in outcomes) == "hits: 1 of cancel, 0 of offer"


def test_ten_examples_are_shipped() -> None:
    combined = [topic for topic in read_topics([EXAMPLES]) if topic.combination]
    assert len(combined) == 10
    assert all(topic.must_not_match for topic in combined)


def test_on_the_command_line(calls: Corpus, tmp_path: Path, command_line: Run) -> None:
    for topic in (CANCEL, OFFER, LOST):
        (tmp_path / f"{topic.name}.toml").write_text(topic_text(topic))
    match = ("match", tmp_path, "--store", calls.store.folder)

    def run(*options: str) -> str:
        done = command_line(*match, *options)
        assert done.status == 0
        return done.out

    (row,) = map(orjson.loads, run().splitlines())
    assert (row["topic"], row["doc_ids"]) == ("lost", ["lost"])
    assert row["lacks"][0]["nearest"]["topic"] == "offer"
    shown = run("--text")
    assert "lost  lost\n  cancel: customer: “Please end my plan”" in shown
    assert "no offer; nearest: agent: “We can offer you a discount" in shown
    counted = orjson.loads(run("--counts", "who"))
    assert counted == {"topic": "lost", "who": "ann", "matches": 1, "documents": 1}
    none = orjson.loads(run("--counts", "topic", "--filter", "who=bob"))
    assert none == {"topic": "lost", "matches": 0, "documents": 0}
    state = ("--new", "--work", str(tmp_path / "work"))
    assert run(*state)
    assert not run(*state)
    (tmp_path / "gone.toml").write_text('all = ["greeting"]')
    (tmp_path / "broken.toml").write_text("all = [")
    (tmp_path / "bots.toml").write_text('all = [{ topic = "cancel", speaker = "robot" }]')
    done = command_line(*match)
    assert (done.status, done.json()) == (1, row)
    broken, gone, bots = done.err.splitlines()
    assert bots.startswith("slice-os: topic 'bots': speaker 'robot' says nothing in this store")
    assert "broken.toml: not valid TOML" in broken
    assert "'greeting' is not among these topics" in gone


# Speakers of a conversation in two channels speak at the same time, and so out of order.
BEGINS = (10.0, 0.0, 20.0, 40.0, 30.0)


class Calls:
    """Conversations without words, of turns that begin every ten code points."""

    def __init__(self, turns: dict[str, list[str]]) -> None:
        self.speakers = turns

    def __iter__(self) -> Iterator[str]:
        return iter(self.speakers)

    def text(self, doc_id: str) -> str:
        return "aaa bbb. \n" * len(self.speakers[doc_id])

    def turns_of(self, doc_ids: Sequence[str]) -> dict[str, list[Turn]]:
        return {
            doc_id: [
                Turn(10 * n, 10 * n + 9, who, BEGINS[n])
                for n, who in enumerate(self.speakers[doc_id])
            ]
            for doc_id in doc_ids
        }

    def metadata(self, doc_id: str) -> Metadata:
        return {}

    def hit(self, topic: str, doc_id: str, turn: int, at: int) -> Hit:
        start = 10 * turn + 4 * at
        metadata = {"speaker": self.speakers[doc_id][turn], "start_time": BEGINS[turn]}
        context = Context(10 * turn, 10 * turn + 9, "aaa bbb. ")
        own = Extent(10 * turn, 10 * turn + 9)
        place = (start, start + 3, "aaa", 0.9, None, 0.9, metadata, context, 0.9)
        return Hit(topic, doc_id, *place, topic=topic, sentence=own, turn=own)


speakers = st.sampled_from(["agent", "customer"])
names = st.sampled_from(["a", "b", "c"])
lengths = st.builds(
    Length,
    st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, 10.0, 20.0]),
    st.sampled_from(["seconds", "turns", "sentences", "words"]),
)


@st.composite
def parts(draw: st.DrawFn) -> Part:
    topic = draw(names)
    key = draw(st.sampled_from(["after", "before", "near", "", ""]))
    others = [name for name in ("a", "b", "c") if name > topic]  # never in a circle
    placed: dict[str, Any] = {}
    if key and others:
        placed = {key: draw(st.sampled_from(others)), "within": draw(st.none() | lengths)}
    return Part(
        topic,
        speaker=draw(st.sampled_from(["", "", "agent"])),
        first=draw(st.none() | lengths),
        last=draw(st.none() | lengths),
        times=draw(st.integers(1, 2)),
        **placed,
    )


some = st.lists(parts(), max_size=2).map(tuple)
rules = st.builds(Combination, all=some, any=some, none=some).filter(lambda rule: rule.parts)


def test_only_what_can_decide_is_verified(calls: Corpus) -> None:
    plain = [replace(CANCEL, threshold=None), OFFER, Topic("storm", ("a storm hits the coast",))]
    rules = [
        Topic("unheard", combination=Combination(all=(Part("storm"),), none=(Part("offer"),))),
        LOST,
        Topic("both", combination=Combination(all=(Part("offer"), Part("cancel")))),
        Topic("either", combination=Combination(any=(Part("offer"),), none=(Part("cancel"),))),
        Topic("shared", combination=Combination(all=(Part("offer"),), per="who")),
    ]
    counting = Counting(calls.encoder)
    counted = Corpus(calls.store, calls.encoder, verifier=counting)
    for number in range(1, len(rules) + 1):
        near: list[Hit] = []
        hits = list(mine_topics(counted, plain, below=near.append))
        everything, counting.claims = counting.claims, 0
        expected = list(find_matches(hits, rules[:number], counted, near))
        assert list(match_topics(counted, [*plain, *rules[:number]])) == expected
        fewer, counting.claims = counting.claims, 0
        assert fewer < everything if number == 1 else fewer <= everything


class Counting(BundledVerifier):
    """The bundled verifier, which counts what it reads."""

    claims = 0

    def begin(self, claims: Sequence[Claim]) -> Verdicts:
        self.claims += len(claims)
        return super().begin(claims)


@settings(max_examples=150)
@given(rule=rules, data=st.data())
def test_rules_as_somebody_else_would_check_them(rule: Combination, data: st.DataObject) -> None:
    drawn = st.lists(speakers, min_size=1, max_size=5)
    calls = Calls({str(n): data.draw(drawn) for n in range(14)})
    places = st.tuples(names, st.sampled_from(list(calls)), st.integers(0, 4), st.integers(0, 1))
    said = {
        (topic, doc_id, turn % len(calls.speakers[doc_id]), at)
        for topic, doc_id, turn, at in data.draw(st.lists(places, max_size=60))
    }
    hits = [calls.hit(*one) for one in sorted(said)]
    found = find_matches(hits, [Topic("t", combination=rule)], calls)
    assert {match.doc_id for match in found} == {
        doc_id for doc_id, turns in calls.speakers.items() if holds(rule, doc_id, turns, said)
    }


def test_rules_look_at_the_hits_of_a_document_with_checkpoints() -> None:
    calls = Calls({str(n): ["agent"] for n in range(20)})
    hits = [calls.hit(topic, doc_id, 0, at) for doc_id in calls for at, topic in enumerate("ab")]
    rule = Topic("t", combination=Combination(all=(Part("a", before="b"),)))
    seen: list[int] = []
    before = CHECKPOINT.set(lambda: seen.append(1))
    try:
        assert len(list(find_matches(hits, [rule], calls))) == 20
    finally:
        CHECKPOINT.reset(before)
    assert len(seen) == 2 * 20  # of each document, and of each hit of `a`


Said = tuple[str, str, int, int]


def holds(rule: Combination, doc_id: str, turns: Sequence[str], said: set[Said]) -> bool:
    """Whether a rule holds, by looking at every word of a conversation of two words a turn."""
    spots = [(turn, at) for turn in range(len(turns)) for at in (0, 1)]

    def seconds(spot: tuple[int, int]) -> float:
        return BEGINS[spot[0]]

    units: dict[str, Callable[[tuple[int, int]], float]] = {
        "seconds": seconds,
        "turns": lambda spot: spot[0],
        "sentences": lambda spot: spot[0],
        "words": lambda spot: spots.index(spot),
    }

    def counted(part: Part) -> set[tuple[int, int]]:
        own = set()
        for spot in spots:
            if (part.topic, doc_id, *spot) not in said:
                continue
            if part.speaker and turns[spot[0]] != part.speaker:
                continue
            if part.first and not units[part.first.measure](spot) < part.first.amount:
                continue
            if part.last:
                of = units[part.last.measure]
                if not max(map(of, spots)) - of(spot) < part.last.amount:
                    continue
            if all(beside(part, spot, name) for name in part.others):
                own.add(spot)
        return own

    def beside(part: Part, spot: tuple[int, int], name: str) -> bool:
        first = [one for one in (*rule.all, *rule.any) if one.topic == name]
        for other in counted(first[0] if first else Part(name)):
            if part.after and not other < spot:
                continue
            if part.before and not spot < other:
                continue
            if part.within is None:
                return True
            of = units[part.within.measure]
            apart = abs(of(spot) - of(other))
            if part.within.measure == "words":
                apart = max(0, apart - 1)
            if apart <= part.within.amount:
                return True
        return False

    def has(part: Part) -> bool:
        return len(counted(part)) >= part.times

    if rule.only_lacks or any(
        (name, doc_id, *spot) in said for name, spot in itertools.product(rule.topics, spots)
    ):
        one_of = not rule.any or any(map(has, rule.any))
        return all(map(has, rule.all)) and one_of and not any(map(has, rule.none))
    return False

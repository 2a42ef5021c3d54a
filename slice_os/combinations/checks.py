"""Checks of topic files: their examples, tried, and what is wrong or needless in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from slice_os.combinations.matching import components, find_matches, missing
from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.bands import rounded_down
from slice_os.hits.hit import Hit
from slice_os.ingest.passages import encode_documents
from slice_os.ingest.readers.speakers import speaker_segments
from slice_os.labels.label import folded
from slice_os.query.options import SPAN
from slice_os.search.around import Turn
from slice_os.search.run import mine
from slice_os.search.scan import part_hits
from slice_os.text.documents import Document, Metadata
from slice_os.topics.assignment import Aim, SpanCosines, assign, countered
from slice_os.topics.combination import DOCUMENT, SECONDS, TURN
from slice_os.topics.files import examine, topic_files
from slice_os.topics.journal import LabelJournal
from slice_os.topics.match import Case
from slice_os.topics.run import TopicQuery, TopicTagger, make_aims
from slice_os.topics.topic import Requirement, Topic
from slice_os.topics.work import Work
from slice_os.verifier.claims import Verifier

_SAME_COSINE = 0.97
# Speakers that a line tells of a store.
_MOST_NAMES = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an example.

    Attributes:
        wanted: whether it should match.
        matched: whether it did.
        nearest: the nearest hit of any phrase, however far; None if there is no word.
        counter: a counter-phrase that its words are nearer to, and its cosine; None if it is out
            for another reason.
        needs: the least that a hit needs.
        hits: of a combined topic, what it has of each topic.
    """

    topic: str
    example: str
    wanted: bool
    matched: bool
    nearest: Hit | None
    counter: tuple[str, float] | None
    needs: Requirement
    hits: str = ""

    @property
    def right(self) -> bool:
        """Whether it matched as it should."""
        return self.wanted == self.matched

    def case(self) -> Case:
        """The result, with its reason."""
        return Case(self.example, self.wanted, self.right, self.nearest, self.why())

    def why(self) -> str:
        """One line about the nearest phrase, and about what is missing."""
        if self.hits:
            return self.hits
        if self.nearest is None:
            return "there is no word in it"
        shown = f"cosine {self.nearest.cosine:.3f} with {self.nearest.phrase!r}; needs "
        shown += f"{self.needs.probability or self.needs.cosine:g}"
        if self.needs.probability:
            shown = f"probability {rounded_down(self.nearest.probability or 0.0, 3)}, {shown}"
        if self.counter is not None:
            shown += f"; counter-phrase {self.counter[0]!r} has {self.counter[1]:.3f}"
        return shown


def run_examples(
    topics: Sequence[Topic],
    encoder: SpanEncoder,
    verifier: Verifier | str | None = None,
) -> Iterator[Outcome]:
    """Try every example of every topic.

    Each example is a text of its own, and each topic stands alone. Conditions on metadata do not
    apply, since examples have none. The examples of a combined topic are conversations, with names
    of speakers before their lines. The verifier is for topics that name none. Raises an
    `InputError` as `mine_topics`, or `match_topics`.
    """
    yield from _conversations(topics, encoder, verifier)
    if all(topic.combination for topic in topics):
        return
    for aim in make_aims(topics, encoder, verifier=verifier):
        aim = replace(aim, topic=replace(aim.topic, where=()), unit=SPAN)
        examples = [(text, True) for text in aim.topic.must_match]
        examples += [(text, False) for text in aim.topic.must_not_match]
        if not examples:
            continue
        asked = TopicQuery.of([aim], encoder)
        documents = [Document(str(number), text) for number, (text, _) in enumerate(examples)]
        hits: dict[str, list[Hit]] = {document.id: [] for document in documents}
        for part in encode_documents(documents, encoder):
            hits[part.document.id] += part_hits(part, asked.query, -1)
        for document, (text, wanted) in zip(documents, examples, strict=True):
            yield _outcome(aim, text, wanted, hits[document.id], asked.cosines)


def _outcome(
    aim: Aim, text: str, wanted: bool, hits: Sequence[Hit], cosines: SpanCosines
) -> Outcome:
    topic = aim.topic
    matched = list(assign(hits, [aim], cosines))
    free = replace(topic, counter_phrases=(), learned=replace(topic.learned, counter_phrases=()))
    near = matched or assign(hits, [replace(aim, topic=free, needs=Requirement())], cosines)
    nearest = max(near, key=lambda hit: hit.cosine, default=None)
    counter = None
    if nearest is not None and not matched:
        place = (nearest.phrase, nearest.start, nearest.end)
        (own,) = (hit for hit in hits if (hit.phrase, hit.start, hit.end) == place)
        counter = countered(own, topic, cosines)
    return Outcome(topic.name, text, wanted, bool(matched), nearest, counter, aim.needs)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to correct in a topic file, and what to do."""

    path: Path
    told: str


def lint(
    paths: Sequence[str | Path], encoder: SpanEncoder, corpus: Corpus | None = None
) -> list[Problem]:
    """Everything that is wrong or needless in topic files and folders.

    In a corpus, that includes phrases without a hit, because others match the same words better.
    Raises an `InputError` if a path does not exist.
    """
    problems = list(_interrupted(paths))
    topics: dict[Path, Topic] = {}
    for path in topic_files(paths):
        topic, wrong, changed = examine(path)
        problems += [Problem(path, told) for told in (*wrong, *changed)]
        if topic is not None and (topic.phrases or topic.combination):
            topics[path] = topic
    problems += [Problem(*found) for found in impossible(topics, corpus)]
    topics = {path: topic for path, topic in topics.items() if topic.phrases}
    owners: dict[str, Path] = {}
    names: dict[str, Path] = {}
    for path, topic in topics.items():
        told = [*_repeated(topic), *_across(topic, path, owners, names)]
        told += [*_nearly_equal(topic, encoder), *_countered(topic, encoder)]
        problems += [Problem(path, each) for each in told]
    if corpus is not None:
        problems += _shadowed(topics, corpus)
    return problems


def _interrupted(paths: Iterable[str | Path]) -> Iterator[Problem]:
    """Renamings that a process did not complete, as the labels beside folders of topics tell."""
    for folder in filter(Path.is_dir, map(Path, paths)):
        renaming = LabelJournal(Work(folder.resolve().parent).labels_file).renaming()
        for new, old in renaming.items():
            told = f"{old!r} was not completely renamed; run `slice-os topics rename` with"
            yield Problem(folder, f"{told} {str(folder)!r} {old!r} {new!r} again")


def _repeated(topic: Topic) -> Iterator[str]:
    for name in ("phrases", "counter_phrases", "must_match", "must_not_match"):
        counts = Counter(map(folded, getattr(topic, name)))
        yield from (f"{name}: {text!r} occurs {n} times" for text, n in counts.items() if n > 1)
    counters = set(map(folded, topic.all_counter_phrases))
    for phrase in topic.phrases:
        if folded(phrase) in counters:
            yield f"{phrase!r} is a phrase and a counter-phrase; delete one"


def _across(
    topic: Topic, path: Path, owners: dict[str, Path], names: dict[str, Path]
) -> Iterator[str]:
    """Names and phrases that another file has, too."""
    if names.setdefault(topic.name, path) != path:
        yield f"name: {names[topic.name]} also has topic {topic.name!r}"
    for phrase in topic.phrases:
        if owners.setdefault(folded(phrase), path) != path:
            yield f"phrase {phrase!r} is also in {owners[folded(phrase)]}"


def _nearly_equal(topic: Topic, encoder: SpanEncoder) -> Iterator[str]:
    phrases = list({folded(phrase): phrase for phrase in topic.phrases}.values())
    vectors = encoder.encode_phrases(phrases)
    for later, row in enumerate(np.tril(vectors @ vectors.T, -1)):
        if row.max() >= _SAME_COSINE:
            former = phrases[int(row.argmax())]
            yield (
                f"phrase {phrases[later]!r} says what {former!r} says (cosine {row.max():.3f}); "
                "delete one"
            )


def _countered(topic: Topic, encoder: SpanEncoder) -> Iterator[str]:
    for outcome in run_examples([topic], encoder):
        if outcome.wanted and not outcome.matched and outcome.counter is not None:
            yield (
                f"must_match {outcome.example!r} is nearer to counter-phrase "
                f"{outcome.counter[0]!r} than to any phrase"
            )


def _shadowed(topics: dict[Path, Topic], corpus: Corpus) -> Iterator[Problem]:
    aims = make_aims(list(topics.values()), corpus.encoder, verify=False)
    reached: Counter[tuple[str, str]] = Counter()

    def counted(hits: Iterable[Hit]) -> Iterator[Hit]:
        for hit in hits:
            for aim in aims:
                if hit.phrase in aim.topic.all_phrases and aim.needs.admits(hit):
                    reached[aim.topic.name, hit.phrase] += 1
            yield hit

    asked = TopicQuery.of(aims, corpus.encoder)
    hits = asked.assign(counted(mine(corpus.store, asked.query, threshold=asked.least)))
    counts = Counter((hit.topic, hit.phrase) for hit in hits)
    for path, topic in topics.items():
        for phrase in topic.phrases:
            among = reached[topic.name, phrase]
            if among and not counts[topic.name, phrase]:
                yield Problem(
                    path,
                    f"phrase {phrase!r} is shadowed: other phrases match all of its {among} "
                    "spans better; delete it",
                )


class _Examples:
    """Texts as documents; lines that begin with names of speakers are turns."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.documents = {
            str(number): Document(str(number), text, segments=speaker_segments(text))
            for number, text in enumerate(texts)
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self.documents)

    def text(self, doc_id: str) -> str:
        return self.documents[doc_id].text

    def turns_of(self, doc_ids: Sequence[str]) -> dict[str, list[Turn]]:
        return {
            doc_id: [
                Turn(one.start, one.end, one.speaker, one.start_time)
                for one in self.documents[doc_id].segments
            ]
            for doc_id in doc_ids
        }

    def metadata(self, doc_id: str) -> Metadata:
        return self.documents[doc_id].metadata


def _conversations(
    topics: Sequence[Topic], encoder: SpanEncoder, verifier: Verifier | str | None
) -> Iterator[Outcome]:
    """Try every example of every combined topic, each as a document of its own."""
    plain = [replace(topic, where=(), unit="") for topic in components(topics)]
    tagger = TopicTagger(plain, encoder, verifier=verifier) if plain else None
    for topic in topics:
        wanted = topic.combination
        texts = [*topic.must_match, *topic.must_not_match]
        if wanted is None or tagger is None or not texts:
            continue
        per = wanted.per if wanted.per == TURN else DOCUMENT
        asked = replace(topic, where=(), combination=replace(wanted, per=per))
        examples = _Examples(texts)
        hits = list(tagger.scan(examples.documents.values()))
        matched = {match.doc_id for match in find_matches(hits, [asked], examples)}
        for number, text in enumerate(texts):
            counts = Counter(hit.topic for hit in hits if hit.doc_id == str(number))
            told = ", ".join(f"{counts[name]} of {name}" for name in wanted.topics)
            both = number < len(topic.must_match), str(number) in matched
            yield Outcome(topic.name, text, *both, None, None, Requirement(), f"hits: {told}")


def impossible(topics: Mapping[Path, Topic], corpus: Corpus | None) -> Iterator[tuple[Path, str]]:
    """Faults of combined topics, a line each, with the file."""
    for path, topic in topics.items():
        if topic.combination is None:
            continue
        yield from ((path, told) for told in topic.combination.impossible())
        if told := missing(topic, list(topics.values())):
            yield path, told
        if corpus is not None:
            yield from ((path, told) for told in unknown(topic, corpus))


def unknown(topic: Topic, corpus: Corpus) -> Iterator[str]:
    """Fields and speakers that a store does not have."""
    fields = corpus.fields()
    wanted = topic.combination
    if wanted is None:
        return
    if wanted.per not in (DOCUMENT, TURN, *fields):
        yield f"per: no document in {corpus.info().location} has the field {wanted.per!r}"
    if "start_time" not in fields and any(
        one.measure == SECONDS for part in wanted.parts for one in part.lengths
    ):
        yield "seconds: nothing in this store has times; use turns, sentences or words"
    speakers = dict.fromkeys(part.speaker for part in wanted.parts if part.speaker)
    found = corpus.field_values("speaker", None) if speakers and "speaker" in fields else []
    known = {one.value.casefold() for one in found}
    names = ", ".join(one.value for one in found[:_MOST_NAMES]) or "nobody"
    for speaker in speakers:
        if speaker.casefold() not in known:
            yield f"speaker {speaker!r} says nothing in this store; there are {names}"

"""Checks of combined topics: their examples, which are conversations, and what cannot hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.ingest.readers.speakers import speaker_segments
from slice_os.search.around import Turn
from slice_os.text.documents import Document, Metadata
from slice_os.topics.combination import DOCUMENT, SECONDS, TURN
from slice_os.topics.matching import components, find_matches
from slice_os.topics.run import TopicTagger
from slice_os.topics.topic import Topic
from slice_os.verifier.claims import Verifier


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


def run_conversations(
    topics: Sequence[Topic],
    encoder: SpanEncoder,
    verifier: Verifier | str | None = None,
) -> Iterator[tuple[Topic, str, bool, bool, str]]:
    """Try every example of every combined topic, each as a document of its own.

    Yields topic, example, whether it should match, whether it does, and which hits it has. Raises
    an `InputError` as `match_topics`.
    """
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
            yield (
                topic,
                text,
                number < len(topic.must_match),
                str(number) in matched,
                f"hits: {told}",
            )


def impossible(topics: Mapping[Path, Topic], corpus: Corpus | None) -> Iterator[tuple[Path, str]]:
    """What is wrong with combined topics, a line each, with the file."""
    for path, topic in topics.items():
        if topic.combination is None:
            continue
        yield from ((path, told) for told in topic.combination.impossible())
        try:
            components([topic, *(one for one in topics.values() if one is not topic)])
        except InputError as error:
            if f"topic {topic.name!r}:" in str(error):
                yield path, str(error)
        if corpus is not None:
            yield from ((path, told) for told in unknown(topic, corpus))


def unknown(topic: Topic, corpus: Corpus) -> Iterator[str]:
    """Fields, times and speakers that a combined topic needs, and a store does not have."""
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
    for speaker in dict.fromkeys(part.speaker for part in wanted.parts if part.speaker):
        found = corpus.field_values("speaker") if "speaker" in fields else []
        if speaker.casefold() not in (one.value.casefold() for one in found):
            names = ", ".join(one.value for one in found) or "nobody"
            yield f"speaker {speaker!r} says nothing in this store; there are {names}"

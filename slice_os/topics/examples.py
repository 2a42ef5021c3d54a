"""The examples of topics, tried: whether they match as their files say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.ingest.passages import encode_documents
from slice_os.query.options import SPAN
from slice_os.search.scan import part_hits
from slice_os.text.documents import Document
from slice_os.topics.assignment import Rule, SpanCosines, assign, countered
from slice_os.topics.run import TopicQuery, make_rules
from slice_os.topics.topic import Requirement, Topic


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an example.

    Attributes:
        topic: its name.
        example: the text.
        wanted: whether it should match.
        matched: whether it did.
        nearest: the nearest hit of any phrase, however far; None if there is no word.
        counter: a counter-phrase that its words are nearer to, and its cosine; None if it is out
            for another reason.
        needs: the least that a hit needs.
    """

    topic: str
    example: str
    wanted: bool
    matched: bool
    nearest: Hit | None
    counter: tuple[str, float] | None
    needs: Requirement

    @property
    def right(self) -> bool:
        """Whether it matched as it should."""
        return self.wanted == self.matched

    def why(self) -> str:
        """One line about the nearest phrase, and about what is missing."""
        if self.nearest is None:
            return "there is no word in it"
        likely = self.nearest.probability or 0.0
        shown = f"cosine {self.nearest.cosine:.3f} with {self.nearest.phrase!r}"
        if self.needs.probability:
            shown = f"probability {likely:.3f}, {shown}; needs {self.needs.probability:g}"
        else:
            shown += f"; needs {self.needs.cosine:g}"
        if self.counter is None:
            return shown
        phrase, cosine = self.counter
        return f"{shown}; counter-phrase {phrase!r} has {cosine:.3f}"


def run_examples(
    topics: Sequence[Topic], encoder: SpanEncoder, verify: bool | None = None
) -> Iterator[Outcome]:
    """Try every example of every topic.

    Each example is a text of its own, and each topic stands alone. Conditions on metadata do not
    apply, since examples have none.

    Args:
        topics: with their examples.
        encoder: of the stores that the topics are for.
        verify: whether a verifier reads the hits; see `Corpus.search`.

    Raises:
        InputError: as `mine_topics`.
    """
    for rule in make_rules(topics, encoder, verify=verify):
        rule = replace(rule, topic=replace(rule.topic, where=()), unit=SPAN)
        examples = [(text, True) for text in rule.topic.must_match]
        examples += [(text, False) for text in rule.topic.must_not_match]
        if not examples:
            continue
        asked = TopicQuery.of([rule], encoder)
        documents = [Document(str(number), text) for number, (text, _) in enumerate(examples)]
        hits: dict[str, list[Hit]] = {document.id: [] for document in documents}
        for part in encode_documents(documents, encoder):
            hits[part.document.id] += part_hits(part, asked.query, -1)
        for document, (text, wanted) in zip(documents, examples, strict=True):
            yield _outcome(rule, text, wanted, hits[document.id], asked.cosines)


def _outcome(
    rule: Rule, text: str, wanted: bool, hits: Sequence[Hit], cosines: SpanCosines
) -> Outcome:
    topic = rule.topic
    matched = list(assign(hits, [rule], cosines))
    free = replace(topic, counter_phrases=(), learned=replace(topic.learned, counter_phrases=()))
    near = matched or assign(hits, [replace(rule, topic=free, needs=Requirement())], cosines)
    nearest = max(near, key=lambda hit: hit.cosine, default=None)
    counter = None
    if nearest is not None and not matched:
        place = (nearest.phrase, nearest.start, nearest.end)
        (own,) = (hit for hit in hits if (hit.phrase, hit.start, hit.end) == place)
        counter = countered(own, topic, cosines)
    return Outcome(topic.name, text, wanted, bool(matched), nearest, counter, rule.needs)

"""Whether the examples of topics come out as their files say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.query.options import HitOptions
from slice_os.search.refinement import refinement
from slice_os.search.scan import scan
from slice_os.text.documents import Document
from slice_os.topics.assignment import Rule, SpanCosines, Verify, assign, countered
from slice_os.topics.run import make_rules, span_cosines, wordings
from slice_os.topics.topic import Cut, Topic


@dataclass(frozen=True, slots=True)
class Outcome:
    """An example, and what came of it.

    Attributes:
        topic: its name.
        example: the text.
        wanted: whether it should match.
        matched: whether it did.
        nearest: the nearest hit of any phrase, however far; None if there is no word.
        counter: a counter-phrase that its words are nearer to, and its cosine; None if it is out
            for another reason.
        least: what a hit needs.
    """

    topic: str
    example: str
    wanted: bool
    matched: bool
    nearest: Hit | None
    counter: tuple[str, float] | None
    least: Cut

    @property
    def right(self) -> bool:
        """Whether it came out as it should."""
        return self.wanted == self.matched

    def why(self) -> str:
        """One line about the nearest phrase, and what was missing."""
        if self.nearest is None:
            return "there is no word in it"
        likely = self.nearest.probability or 0.0
        told = f"cosine {self.nearest.cosine:.3f} with {self.nearest.phrase!r}"
        if self.least.probability:
            told = f"probability {likely:.3f}, {told}; needs {self.least.probability:g}"
        else:
            told += f"; needs {self.least.cosine:g}"
        if self.counter is None:
            return told
        phrase, cosine = self.counter
        return f"{told}; counter-phrase {phrase!r} has {cosine:.3f}"


def run_examples(
    topics: Sequence[Topic], encoder: SpanEncoder, verify: bool | None = None
) -> Iterator[Outcome]:
    """Try every example of every topic.

    Each example is a text of its own, and each topic counts for itself. Conditions on metadata
    do not apply, since examples have none.

    Args:
        topics: with their examples.
        encoder: of the stores that the topics are for.
        verify: whether the verifier reads the hits; see `Corpus.search`.

    Raises:
        InputError: as `mine_topics`.
    """
    refine = refinement(encoder, HitOptions(verify=verify))
    for rule in make_rules(topics, encoder):
        topic = replace(rule.topic, where=())
        examples = [(text, True) for text in topic.must_match]
        examples += [(text, False) for text in topic.must_not_match]
        if not examples:
            continue
        documents = [Document(str(number), text) for number, (text, _) in enumerate(examples)]
        hits: dict[str, list[Hit]] = {document.id: [] for document in documents}
        for hit in _all_hits(documents, topic, encoder):
            hits[hit.doc_id].append(hit)
        cosines = span_cosines([rule], encoder)
        for document, (text, wanted) in zip(documents, examples, strict=True):
            found = hits[document.id]
            tried = Rule(topic, rule.cut)
            yield _outcome(tried, text, wanted, found, cosines, refine.each)


def _all_hits(documents: Sequence[Document], topic: Topic, encoder: SpanEncoder) -> Iterator[Hit]:
    """The hits of a topic's phrases and counter-phrases, however far."""
    return scan(documents, wordings([topic]), threshold=-1, encoder=encoder, verify=False)


def _outcome(
    rule: Rule, text: str, wanted: bool, hits: list[Hit], cosines: SpanCosines, verify: Verify
) -> Outcome:
    topic = rule.topic
    matched = list(assign(hits, [rule], cosines, verify=verify))
    free = replace(topic, counter_phrases=(), learned=replace(topic.learned, counter_phrases=()))
    near = matched or assign(hits, [Rule(free, Cut())], cosines, verify=verify)
    nearest = max(near, key=lambda hit: hit.cosine, default=None)
    counter = None
    if nearest is not None and not matched:
        counters = set(topic.all_counter_phrases)
        against = [hit for hit in hits if hit.phrase in counters]
        counter = countered(nearest, topic, against, cosines)
    return Outcome(topic.name, text, wanted, bool(matched), nearest, counter, rule.cut)

"""Questions for people: hits and near misses, the most telling first, equal words once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.labels.label import Label, LabelEntry, Origin, folded, known_to
from slice_os.query.filters import Filter
from slice_os.topics.assignment import answers
from slice_os.topics.near_misses import MARGIN, leaders, near_misses
from slice_os.topics.run import usual_requirement
from slice_os.topics.topic import Requirement, Topic
from slice_os.version import __version__

# Of each topic, so many of the most uncertain are compared with one another.
MOST_COMPARED = 100


def to_review(
    corpus: Corpus,
    topics: Sequence[Topic],
    answers: Sequence[LabelEntry] = (),
    reader: str = "",
    *,
    margin: float = MARGIN,
    where: Filter | None = None,
) -> list[list[Hit]]:
    """Hits and near misses that a reader has not answered, those in equal words together.

    What other readers have answered comes first, so that their answers can be compared; what they
    said changes nothing. Then topics come in turn, the most uncertain and most different ones
    first: of those in the band ``unsure``, and then of the others, those nearest to what their
    topic needs, where the second of a kind waits twice as long, the third three times. Arguments
    are those of `near_misses`.
    """
    needs = requirements(corpus, topics)
    hits = near_misses(corpus, topics, margin=margin, where=where, and_hits=True, labels=())
    groups: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[hit.topic or "", folded(hit.text)].append(hit)
    is_known = _said(known_to(reader, answers))
    is_said = _said([answer.label for answer in answers])
    queues: dict[str, list[list[Hit]]] = defaultdict(list)
    for (name, _), group in groups.items():
        if not any(map(is_known, group)):
            group.sort(key=lambda hit: _distance(hit, needs[hit.topic or ""]))
            queues[name].append(group)
    ranked = [
        (not any(map(is_said, group)), rank, name, group)
        for name, queue in queues.items()
        for rank, group in enumerate(_varied(queue, needs[name], corpus.encoder))
    ]
    return [group for *_, group in sorted(ranked, key=lambda each: each[:3])]


def requirements(corpus: Corpus, topics: Iterable[Topic]) -> dict[str, Requirement]:
    """The needs of hits of topics in a store, by the name of the topic."""
    usual = usual_requirement(corpus.encoder, corpus.refinement())
    return {topic.name: topic.requirement(usual) for topic in topics}


def origin_of(corpus: Corpus, needs: Requirement) -> Origin:
    """The origin of hits that are found in a store, with what their topic needs."""
    card, likely = corpus.encoder.card, bool(needs.probability)
    return Origin(
        card.name,
        card.encoder_id,
        str(corpus.store.folder or corpus.store.info().location),
        __version__,
        None if likely else needs.cosine,
        needs.probability if likely else None,
    )


def _said(labels: Sequence[Label]) -> Callable[[Hit], bool]:
    """Whether labels are about the words of a hit: in its place, or, without a place, anywhere."""
    answer = answers(label for label in labels if label.doc_id)
    words = {(label.topic, folded(label.text)) for label in labels if not label.doc_id}

    def has(hit: Hit) -> bool:
        own = {(hit.topic, folded(text)) for text in (hit.text, Label.of(hit, right=True).text)}
        return not words.isdisjoint(own) or answer(hit) is not None

    return has


def _varied(
    queue: Iterable[list[Hit]], needs: Requirement, encoder: SpanEncoder
) -> list[list[Hit]]:
    """The most uncertain groups first; a later one of a kind waits a multiple of its place."""
    ordered = sorted(queue, key=lambda group: _distance(group[0], needs))
    near, rest = ordered[:MOST_COMPARED], ordered[MOST_COMPARED:]
    texts = [" ".join(group[0].text.split()) for group in near]
    kinds: Counter[int] = Counter()
    waits = []
    for place, kind in enumerate(leaders(encoder.encode(texts)) if near else [], 1):
        kinds[kind] += 1
        waits.append(place * kinds[kind])
    places = sorted(range(len(near)), key=lambda n: (near[n][0].band != "unsure", waits[n]))
    return [*(near[place] for place in places), *rest]


def _distance(hit: Hit, needs: Requirement) -> tuple[bool, float]:
    if needs.probability:
        return hit.band != "unsure", abs((hit.probability or 0.0) - needs.probability)
    return hit.band != "unsure", abs(hit.cosine - needs.cosine)

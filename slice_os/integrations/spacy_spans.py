"""spaCy: a component that marks the spans that say a phrase, or belong to a topic.

Examples:
    >>> nlp = spacy.blank("en")
    >>> nlp.add_pipe("slice_os", config={"phrases": ["I want to cancel my subscription"]})
    >>> doc = nlp("Hello, I would like to close my account.")
    >>> for span in doc.spans["slice_os"]:
    ...     span.text, span.label_, span._.slice_os["cosine"]
"""

# Without postponed annotations: spaCy 3.7 cannot read those of a factory.
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError, MissingExtraError
from slice_os.hits.hit import Hit
from slice_os.integrations.evidence import evidence_of
from slice_os.query.options import SPAN, HitOptions
from slice_os.search.scan import scan
from slice_os.text.documents import Document
from slice_os.topics.files import read_topics
from slice_os.topics.run import scan_topics

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Span, SpanGroup
except ImportError:
    raise MissingExtraError("The component of spaCy", "spacy") from None

FACTORY = "slice_os"
SCORES = "scores"


class SpacySpans:
    """The component that ``nlp.add_pipe("slice_os", config={…})`` adds.

    It sets ``doc.spans[spans_key]``: a span for each hit, labelled with its topic or its phrase.
    ``span._.slice_os`` has the evidence, such as ``cosine`` and ``probability``. The cosines are
    also in ``doc.spans[spans_key].attrs["scores"]``, in the order of the spans. A span has all
    tokens that its hit touches.

    Args:
        nlp: unused, as the next one.
        name: of the component in the pipeline.
        phrases: to look for; each is a label.
        topics: files and folders of topics, each with its own threshold; their names are labels.
        threshold: least cosine of a hit of a phrase; None for the usual cut, see `HitOptions`.
        min_probability: least probability of a hit of a phrase; None for any.
        verify: whether the verifier reads the hits; see `Corpus.search`.
        unit: width of hits of phrases; see `Corpus.search`.
        model: a model folder, or the name of a bundled one; None for the default.
        spans_key: key of the spans in ``doc.spans``.

    Raises an `InputError` without a phrase or a topic, or if a topic cannot be used.
    """

    def __init__(
        self,
        nlp: Language,
        name: str,
        phrases: list[str] = [],  # noqa: B006  spaCy copies it
        topics: list[str] = [],  # noqa: B006
        threshold: float | None = None,
        min_probability: float | None = None,
        verify: bool | None = None,
        unit: str = SPAN,
        model: str | None = None,
        spans_key: str = FACTORY,
    ) -> None:
        if not phrases and not topics:
            raise InputError('nothing to look for; give config={"phrases": […]} or {"topics": […]}')
        self.phrases = phrases
        self.topics = read_topics(topics) if topics else []
        self.options = HitOptions(
            threshold=threshold, min_probability=min_probability, unit=unit, verify=verify
        )
        self.encoder = SpanEncoder(model)
        self.spans_key = spans_key

    def __call__(self, doc: Doc) -> Doc:
        """Mark one document."""
        (marked,) = self.pipe([doc])
        return marked

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Mark documents as they come, a batch at a time."""
        rest = iter(stream)
        while batch := list(islice(rest, batch_size)):
            hits: dict[str, list[Hit]] = defaultdict(list)
            for hit in self._hits([Document(str(n), doc.text) for n, doc in enumerate(batch)]):
                hits[hit.doc_id].append(hit)
            for number, doc in enumerate(batch):
                doc.spans[self.spans_key] = _group(doc, hits[str(number)], self.spans_key)
                yield doc

    def _hits(self, documents: list[Document]) -> Iterator[Hit]:
        encoder, verify = self.encoder, self.options.verify
        if self.phrases:
            yield from scan(documents, self.phrases, self.options, encoder=encoder)
        if self.topics:
            yield from scan_topics(documents, self.topics, encoder=encoder, verify=verify)


make_spans = Language.factory(FACTORY, assigns=["doc.spans"], func=SpacySpans)
"""The factory, by the name that the package's entry point has."""


def _group(doc: Doc, hits: list[Hit], spans_key: str) -> SpanGroup:
    hits = sorted(hits, key=lambda hit: (hit.start, hit.end))
    spans = [_span(doc, hit) for hit in hits]
    evidence = [evidence_of(hit) for hit in hits]
    attrs = {SCORES: [one["cosine"] for one in evidence], FACTORY: evidence}
    return SpanGroup(doc, name=spans_key, attrs=attrs, spans=spans)


def _span(doc: Doc, hit: Hit) -> Span:
    label = hit.topic or hit.phrase
    span = doc.char_span(hit.start, hit.end, label=label, alignment_mode="expand")
    assert span is not None  # noqa: S101  a hit has words, which are in tokens
    return span


def _evidence(span: Span) -> dict[str, Any] | None:
    """The evidence for a span; None if no hit made it."""
    # An attribute stored with a span would be one for all labels of the same words.
    for group in span.doc.spans.values():
        for other, evidence in zip(group, group.attrs.get(FACTORY, ()), strict=False):
            if other == span:
                return dict(evidence)
    return None


Span.set_extension(FACTORY, getter=_evidence, force=True)

"""Topics of documents that stream by, or that are about to be stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.ingest.passages import encode_documents
from slice_os.search.scan import part_hits
from slice_os.spans.passages import DocumentPart, EncodedPassage
from slice_os.text.documents import Document
from slice_os.topics.run import TopicQuery, make_rules
from slice_os.topics.topic import Topic
from slice_os.verifier.claims import Verifier

FIELD_PREFIX = "topic_"


class TopicTagger:
    """Finds topics in documents as they come; encodes the phrases once.

    Args:
        topics: what to look for.
        encoder: of the documents.
        exclusive: words count for the nearest topic alone.
        verify: whether a verifier reads the hits; see `Corpus.search`.
        verifier: of topics that name none, or its name; None for the bundled one.

    Raises:
        InputError: as `mine_topics`.
    """

    def __init__(
        self,
        topics: Sequence[Topic],
        encoder: SpanEncoder,
        exclusive: bool = False,
        verify: bool | None = None,
        verifier: Verifier | str | None = None,
    ) -> None:
        self._encoder = encoder
        rules = make_rules(topics, encoder, verify=verify, verifier=verifier)
        self._asked = TopicQuery.of(rules, encoder)
        self._exclusive = exclusive

    def scan(self, documents: Iterable[Document]) -> Iterator[Hit]:
        """The hits of topics in documents, as `mine_topics` yields them."""
        for part in encode_documents(documents, self._encoder):
            yield from self.hits(part)

    def hits(self, part: DocumentPart) -> Iterator[Hit]:
        """The hits of topics in a part of a document."""
        hits = part_hits(part, self._asked.query, self._asked.least)
        return self._asked.assign(hits, self._exclusive)

    def tag(self, part: DocumentPart) -> DocumentPart:
        """The part with a field ``topic_NAME``, true, in each passage that has a hit of a topic."""
        found: dict[int, dict[str, bool]] = {}
        for hit in self.hits(part):
            found.setdefault(hit.context.start, {})[f"{FIELD_PREFIX}{hit.topic}"] = True

        def tagged(passage: EncodedPassage) -> EncodedPassage:
            if passage.start not in found:
                return passage
            return replace(passage, metadata={**passage.metadata, **found[passage.start]})

        return replace(part, passages=tuple(map(tagged, part.passages)))


def scan_topics(
    documents: Iterable[Document],
    topics: Sequence[Topic],
    *,
    encoder: SpanEncoder | None = None,
    exclusive: bool = False,
    verify: bool | None = None,
    verifier: Verifier | str | None = None,
) -> Iterator[Hit]:
    """Every hit of every topic in a stream of documents; nothing is stored.

    Args:
        documents: read one by one.
        topics: what to look for.
        encoder: None for the bundled default.
        exclusive: words count for the nearest topic alone.
        verify: whether a verifier reads the hits; see `Corpus.search`.
        verifier: of topics that name none, or its name; None for the bundled one.

    Yields:
        Hits with their topic, by document, passage, topic and position.

    Raises:
        InputError: as `mine_topics`.
    """
    tagger = TopicTagger(topics, encoder or SpanEncoder(), exclusive, verify, verifier)
    yield from tagger.scan(documents)

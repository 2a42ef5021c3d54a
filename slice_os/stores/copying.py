"""Copying a store into another one, of any kind, with its vectors; and comparing the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from slice_os.arrays import unit_rows
from slice_os.errors import RejectedError, StoreError
from slice_os.query.query import Phrases, Query
from slice_os.spans.passages import DocumentPart
from slice_os.stores.protocol import CopyableStore, Rejection, Store, StoredDocument

PHRASES = 50
PHRASE_WORDS = 6
THRESHOLD = 0.8
# Norms are stored in 16 bits, or not at all.
TOLERANCE = 5e-4
BATCH = 64


def copy_store(
    source: Store, target: Store, on_document: Callable[[int], None] = lambda done: None
) -> int:
    """Write what a store holds to another one; returns how many documents were not there yet.

    Documents that are there already, as they are in the source, are passed over, so that a copy
    that was interrupted goes on. ``on_document`` is called with how many are done.

    Raises a `StoreError` if the source cannot be copied, and a `RejectedError` if the target
    rejects a document.
    """
    copied = done = 0
    parts = _stored(source)
    with target.writer() as writer:
        while batch := list(islice(parts, BATCH)):
            there = target.find_documents([part.document.id for part in batch])
            for part in batch:
                document = part.document
                if there.get(document.id) != StoredDocument(document.source, document.fingerprint):
                    _refuse(writer.write(part))
                    copied += 1
            done += len(batch)
            on_document(done)
        _refuse(writer.flush())
        sources = [entry.name for entry in source.list_sources() if entry.name]
        for name, signature in source.source_signatures(sources).items():
            writer.finish_source(name, signature)
    return copied


def differences(source: Store, target: Store) -> list[str]:
    """What two stores do not have in common: their documents, and hits of some phrases.

    The phrases are beginnings of passages all over the source, with their vectors there.
    """
    listed = [{entry.id: entry for entry in store.list_documents()} for store in (source, target)]
    ids = sorted(key for key in listed[0] | listed[1] if listed[0].get(key) != listed[1].get(key))
    found = [f"document {key!r} is not the same in both" for key in ids]
    query = _query(source, max(1, len(listed[0]) // PHRASES))
    if query is None:
        return found
    ours, theirs = _hits(source, query), _hits(target, query)
    for place in sorted(ours.keys() | theirs.keys()):
        pair = (ours.get(place), theirs.get(place))
        known = [cosine for cosine in pair if cosine is not None]
        if None in pair:
            apart = max(known) > THRESHOLD + TOLERANCE
        else:
            apart = max(known) - min(known) > TOLERANCE
        if apart:
            row, doc_id, start = place
            found.append(f"{query.phrases.texts[row]!r} at {doc_id!r}:{start} scores {pair}")
    return found


def _refuse(rejections: Sequence[Rejection]) -> None:
    for rejection in rejections:
        raise RejectedError(f"{rejection.document.id}: {rejection.reason}")


def _stored(store: Store) -> Iterator[DocumentPart]:
    if not isinstance(store, CopyableStore):
        raise StoreError("a store of this kind cannot be copied; ingest its files again")
    return store.stored_documents()


def _query(store: Store, step: int) -> Query | None:
    """Phrases from passages of every so many documents; None of an empty store."""
    texts, vectors = [], []
    for part in islice(_stored(store), 0, step * PHRASES, step):
        for passage in part.passages[:1]:
            words = passage.words[:PHRASE_WORDS]
            texts.append(part.document.text[words[0, 0] : words[-1, 1]])
            vectors.append(passage.vectors[words[0, 2] : words[-1, 3]].sum(axis=0))
    if not texts:
        return None
    card = store.info().encoder
    phrases = Phrases(tuple(texts), unit_rows(np.array(vectors)))
    return Query(phrases, (), card.min_words, card.max_words)


def _hits(store: Store, query: Query) -> dict[tuple[int, str, int], float]:
    """The cosines of passages at or above the threshold, by phrase and place."""
    found = {}
    for some in store.scan(query, THRESHOLD, exhaustive=True):
        loaded = some.load(some.keys)
        for column, key in enumerate(some.keys):
            passage = loaded[key]
            for row, cosine in enumerate(some.cosines[:, column].tolist()):
                if cosine >= THRESHOLD:
                    found[row, passage.doc_id, passage.encoded.start] = cosine
    return found

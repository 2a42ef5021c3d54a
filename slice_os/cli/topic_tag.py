"""`slice-os topics tag`."""

from __future__ import annotations

import io
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import IO, TYPE_CHECKING, Annotated, Any, TypeAlias

import click
import orjson

from slice_os.cli.options import (
    COSINE,
    EncoderChoice,
    Exclusive,
    id_field,
    text_field,
    topics_option,
)
from slice_os.cli.parameters import argument, command
from slice_os.cli.render import complaint, echo_json
from slice_os.query.options import UTTERANCE_THRESHOLD

if TYPE_CHECKING:
    from slice_os.ingest.readers import BadRecord, ReadOptions
    from slice_os.text.documents import Document
    from slice_os.topics import TopicTagger, UtteranceTagger

    Finder: TypeAlias = Callable[[Sequence[Document]], list[list[dict[str, Any]]]]

FILE_BATCH = 64


@command()
def tag(
    files: Annotated[
        tuple[str, ...], argument(metavar="[FILE]...", type=click.Path(allow_dash=True))
    ],
    topic_paths: Annotated[tuple[str, ...], topics_option(required=True)],
    id_field: Annotated[str, id_field],
    text_field: Annotated[str, text_field],
    with_hits: Annotated[bool, "--hits", "Also add the hits, as `topic_hits`."],
    exclusive: Exclusive,
    utterances: Annotated[
        bool, "Read each text as a whole, for texts about one thing: the best topic, or none."
    ],
    least: Annotated[
        float | None,
        COSINE,
        "SCORE",
        f"With --utterances: lowest score of a topic.  [default: {UTTERANCE_THRESHOLD}]",
    ],
    encoder: EncoderChoice,
) -> int:
    """Add the field `topics` to JSON lines: the names of their topics.

    Reads standard input, which is answered line by line, or each FILE, in UTF-8. A line that
    cannot be used is reported on standard error, and the exit status is 1.

    For short texts about one thing, such as chat messages and ticket titles, give --utterances:
    topics are compared with each other, and the thresholds and conditions in their files are not
    used.
    """
    from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions
    from slice_os.topics import TopicTagger, UtteranceTagger
    from slice_os.topics.files import read_topics

    if utterances and exclusive:
        raise click.UsageError("--utterances: a text has one topic at most; omit --exclusive")
    if least is not None and not utterances:
        raise click.UsageError("--least: only with --utterances")
    found = read_topics(topic_paths)
    loaded = encoder.load()
    if utterances:
        threshold = UTTERANCE_THRESHOLD if least is None else least
        worded = [topic for topic in found if topic.phrases]  # others combine these
        finder = partial(_whole_texts, UtteranceTagger(worded, loaded, threshold))
    else:
        finder = partial(_hits, TopicTagger(found, loaded, exclusive))
    bad = 0
    for name in files or ("-",):
        with click.open_file(name, "rb") as stream:
            records = _records(name, stream, ReadOptions(id_field, text_field, encoding="utf-8"))
            # A person or a program may wait for the answer to a line.
            size = 1 if name == "-" else FILE_BATCH
            while batch := list(islice(records, size)):
                for record in (each for each in batch if isinstance(each, BadRecord)):
                    bad += not isinstance(record, ReadNote)
                    click.echo(complaint(record), err=True)
                _tag_batch([each for each in batch if isinstance(each, tuple)], finder, with_hits)
    return 1 if bad else 0


def _records(
    name: str, stream: IO[bytes], options: ReadOptions
) -> Iterator[tuple[dict[str, Any], Document] | BadRecord]:
    """Each line with its document, or why it has none, and what people need to know of it."""
    from slice_os.ingest.readers import BadRecord
    from slice_os.ingest.readers.records import read_jsonl

    for number, line in enumerate(stream, start=1):
        if line.isspace():
            continue
        for found in read_jsonl(name, io.BytesIO(line), options):
            if isinstance(found, BadRecord):
                # It reads UTF-8 alone, so that the lines that it gives back are as they were.
                reason = found.reason.removesuffix(", or choose --encoding")
                yield replace(found, line=number, reason=reason)
            else:
                yield orjson.loads(line.removeprefix(BOM_UTF8).strip()), found


def _tag_batch(
    batch: list[tuple[dict[str, Any], Document]], finder: Finder, with_hits: bool
) -> None:
    """Print records with their topics."""
    found = finder([document for _, document in batch])
    for (row, _), hits in zip(batch, found, strict=True):
        row["topics"] = sorted({hit["topic"] for hit in hits})
        if with_hits:
            row["topic_hits"] = hits
        echo_json(row)


def _hits(tagger: TopicTagger, documents: Sequence[Document]) -> list[list[dict[str, Any]]]:
    numbered = [replace(document, id=str(number)) for number, document in enumerate(documents)]
    hits: list[list[dict[str, Any]]] = [[] for _ in documents]
    for hit in tagger.scan(numbered):
        number = int(hit.doc_id)
        hits[number].append(replace(hit, doc_id=documents[number].id).to_dict())
    return hits


def _whole_texts(
    tagger: UtteranceTagger, documents: Sequence[Document]
) -> list[list[dict[str, Any]]]:
    found = tagger.tag([document.text for document in documents])
    return [[each.to_dict()] if each.topic else [] for each in found]

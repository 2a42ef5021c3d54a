"""`slice-os topics tag`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import click
import orjson

from slice_os.cli.options import encoder_options, id_field_option, loaded_encoder, text_field_option
from slice_os.cli.render import complaint, echo_json
from slice_os.cli.topic_options import exclusive_option, topics_option

if TYPE_CHECKING:
    from slice_os.documents import Document
    from slice_os.ingest.readers import BadRecord, ReadOptions
    from slice_os.results import Hit
    from slice_os.topics import TopicTagger

FILE_BATCH = 64


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(allow_dash=True))
@topics_option(required=True)
@id_field_option
@text_field_option
@click.option("--hits", "with_hits", is_flag=True, help="Also add the hits, as `topic_hits`.")
@exclusive_option
@encoder_options
def tag(
    files: tuple[str, ...],
    topic_paths: tuple[str, ...],
    id_field: str,
    text_field: str,
    with_hits: bool,
    exclusive: bool,
    model: str | None,
    engine: str,
    providers: tuple[str, ...],
    threads: int | None,
) -> int:
    """Add the field `topics` to JSON lines: the names of their topics.

    Reads standard input, or each FILE; what is piped in is answered line by line. A line that
    cannot be used is reported on standard error, and the exit status is 1.
    """
    from slice_os.ingest.readers import BadRecord, ReadOptions
    from slice_os.topics import TopicTagger
    from slice_os.topics.files import read_topics

    found = read_topics(topic_paths)
    encoder = loaded_encoder(model, engine, providers, threads)
    tagger = TopicTagger(found, encoder, exclusive)
    bad = 0
    for name in files or ("-",):
        with click.open_file(name, "rb") as stream:
            records = _records(name, stream, ReadOptions(id_field, text_field))
            # A person or a program may wait for the answer to a line.
            size = 1 if name == "-" else FILE_BATCH
            while batch := list(islice(records, size)):
                for record in (each for each in batch if isinstance(each, BadRecord)):
                    bad += 1
                    click.echo(complaint(record), err=True)
                _tag_batch([each for each in batch if isinstance(each, tuple)], tagger, with_hits)
    return 1 if bad else 0


def _records(
    name: str, stream: IO[bytes], options: ReadOptions
) -> Iterator[tuple[dict[str, Any], Document] | BadRecord]:
    """Each line with its document, or why it has none."""
    from slice_os.ingest.readers import BadRecord
    from slice_os.ingest.readers.json_lines import read_jsonl

    for number, line in enumerate(stream, start=1):
        if line.isspace():
            continue
        for found in read_jsonl(name, io.BytesIO(line), options):
            if isinstance(found, BadRecord):
                yield replace(found, line=number)
            else:
                yield orjson.loads(line), found


def _tag_batch(
    batch: list[tuple[dict[str, Any], Document]], tagger: TopicTagger, with_hits: bool
) -> None:
    """Print records with their topics."""
    documents = [replace(document, id=str(number)) for number, (_, document) in enumerate(batch)]
    hits: list[list[Hit]] = [[] for _ in batch]
    for hit in tagger.scan(documents):
        hits[int(hit.doc_id)].append(hit)
    for (row, document), found in zip(batch, hits, strict=True):
        row["topics"] = sorted({hit.topic for hit in found if hit.topic})
        if with_hits:
            row["topic_hits"] = [replace(hit, doc_id=document.id).to_dict() for hit in found]
        echo_json(orjson.dumps(row))

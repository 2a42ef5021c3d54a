"""The record of a mining, with topics or phrases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from slice_os.corpus import Corpus
from slice_os.encoder.model_folder import files_hash
from slice_os.hits.run_record import RunRecord, TopicRecord
from slice_os.query.options import MineOptions
from slice_os.search.recording import run_record
from slice_os.topics.files import read_topic, topic_files
from slice_os.topics.run import usual_requirement
from slice_os.topics.topic import Requirement


def mining_record(
    corpus: Corpus,
    store: str,
    phrases: Sequence[str],
    topic_paths: Sequence[str | Path],
    options: MineOptions,
    further: Mapping[str, Any],
) -> RunRecord:
    """The record of a mining that begins now, of phrases or of the topics of files and folders.

    Raises an `InputError` as `read_topics`.
    """
    usual = usual_requirement(corpus.encoder, corpus.refinement(options.verify))
    wanted = list(_topics(topic_paths, usual)) if topic_paths else phrases
    return run_record("mine", corpus.encoder, wanted, options, store=store, further=further)


def _topics(paths: Sequence[str | Path], usual: Requirement) -> Iterator[TopicRecord]:
    for path in topic_files(paths):
        topic = read_topic(path)
        need = topic.requirement(usual)
        threshold = None if need.cosine == -1 else need.cosine
        yield TopicRecord(topic.name, files_hash(path), threshold, need.probability or None)

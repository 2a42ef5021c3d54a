"""Stores are copied between a folder, OpenSearch and Elasticsearch, in all six directions."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from opensearchpy import OpenSearch

from slice_os import Corpus, SpanEncoder
from tests.command_line import Run
from tests.opensearch.conftest import opensearch_runtime, plugins
from tests.opensearch.conftest import opensearch_url as other_url
from tests.opensearch.texts import write_dialogues

__all__ = ["opensearch_runtime", "other_url", "plugins"]

pytestmark = pytest.mark.release

PHRASES = ["please change my seat", "I need my boarding pass"]


def test_six_directions(
    elasticsearch_url: str,
    other_url: str,
    index_name: str,
    encoder: SpanEncoder,
    tmp_path: Path,
    command_line: Run,
) -> None:
    lines = write_dialogues(tmp_path / "dialogues.jsonl", 12)
    first = str(tmp_path / "first")
    assert command_line("ingest", lines, "--store", first).status == 0
    chain = [
        first,
        f"{other_url}/{index_name}-a",
        f"{elasticsearch_url}/{index_name}-a",
        str(tmp_path / "second"),
        f"{elasticsearch_url}/{index_name}-b",
        f"{other_url}/{index_name}-b",
        str(tmp_path / "third"),
    ]
    for source, target in pairwise(chain):
        done = command_line("store", "copy", source, target)
        assert (done.status, done.out) == (0, ""), target
        assert done.err.endswith("12 of 12 documents copied; both are the same\n")
    expected = mined(chain[0], encoder)
    assert len(expected) > 10
    for location in chain[1:]:
        found = mined(location, encoder)
        assert [hit[:3] for hit in found] == [hit[:3] for hit in expected]
        for ours, theirs in zip(found, expected, strict=True):
            assert ours[3] == pytest.approx(theirs[3], abs=2e-4)
            assert ours[4] == pytest.approx(theirs[4], rel=0.01)
    for location in chain[1:]:
        again = command_line("ingest", lines, "--store", location)
        assert '"sources_unchanged":1' in again.out
    with OpenSearch(other_url) as client:
        client.indices.delete(index=f"{index_name}-*")
        client.indices.delete_index_template(name=f"slice-os-{index_name}-*")


def mined(location: str, encoder: SpanEncoder) -> list[tuple[str, int, int, float, float]]:
    """Places of hits, with their cosines and BM25, whatever the order of the store."""
    with Corpus(location, encoder) as corpus:
        hits = corpus.mine(PHRASES, threshold=0.4)
    return sorted((hit.doc_id, hit.start, hit.end, hit.cosine, hit.bm25) for hit in hits)

"""The node of Elasticsearch that tests can use."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.opensearch.runtime import RuntimeMissingError

from .node import ElasticsearchNode
from .runtime import VERSION, find_elasticsearch


@pytest.mark.slow
@pytest.mark.release
def test_a_real_node_answers(tmp_path: Path) -> None:
    try:
        runtime = find_elasticsearch(lambda line: None)
    except RuntimeMissingError as error:
        pytest.skip(str(error))
    with (
        ElasticsearchNode(runtime, tmp_path / "node") as node,
        urlopen(node.url, timeout=60) as answer,
    ):
        assert answer.headers["X-Elastic-Product"] == "Elasticsearch"
        assert json.load(answer)["version"]["number"] == VERSION

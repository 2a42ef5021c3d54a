"""Scores that the server computes on Elasticsearch, as on OpenSearch."""

import pytest

from tests.command_line import Run

from .shared import names_of

globals().update(names_of("opensearch.test_server_scoring"))

pytestmark = pytest.mark.release


@pytest.mark.usefixtures("native_engine")
def test_store_info_says_who_scores(location: str, command_line: Run) -> None:
    assert command_line("store", "info", "--store", location).json()["scored_by"] == "native"

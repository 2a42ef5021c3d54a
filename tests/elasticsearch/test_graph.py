"""The graph of an index on Elasticsearch proposes as many passages as are asked for."""

from __future__ import annotations

import pytest

from slice_os import SpanEncoder
from slice_os.search.run import make_query
from slice_os.stores.cluster.search.listing import require_index
from slice_os.stores.cluster.search.searches import Asked
from slice_os.stores.cluster.server.connection import IndexHandle

pytestmark = pytest.mark.release

COUNT = 60


@pytest.mark.parametrize("phrase", ["I want to cancel my booking", "please change my seat"])
def test_no_search_ends_early(location: str, encoder: SpanEncoder, phrase: str) -> None:
    handle = IndexHandle.at(location)
    settings = require_index(handle).settings
    query = make_query(encoder, [phrase])
    body = Asked(settings, query).dense(query.phrases.vectors[0], 200)
    with handle.client as client:
        assert len(client.search(index=handle.name, body=body)["hits"]["hits"]) == COUNT

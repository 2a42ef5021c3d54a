"""The scripts of the native engine give the best span on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_span_scripts", language="the node has no Painless"))

pytestmark = pytest.mark.release


@pytest.fixture
def language(native_engine: None) -> str:
    return "slice_os"

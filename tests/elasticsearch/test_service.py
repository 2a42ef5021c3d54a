"""The service over an index of Elasticsearch, as over one of OpenSearch."""

import pytest

from .shared import names_of

globals().update(
    names_of(
        "opensearch.test_service", test_what_is_no_document_is_refused="before a store is asked"
    )
)

pytestmark = pytest.mark.release

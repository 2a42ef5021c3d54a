"""The service over an index of Elasticsearch, as over one of OpenSearch."""

import pytest

from tests.opensearch import test_service as shared

from .shared import names_of

globals().update(names_of(shared, test_what_is_no_document_is_refused="before a store is asked"))

pytestmark = pytest.mark.release

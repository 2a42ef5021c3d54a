"""Answers of Elasticsearch that are spoilt, as those of OpenSearch."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_spoilt_answers"))

pytestmark = [pytest.mark.release, pytest.mark.large]

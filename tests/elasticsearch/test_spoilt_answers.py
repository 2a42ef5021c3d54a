"""Answers of Elasticsearch that are spoilt, as those of OpenSearch."""

import pytest

from tests.opensearch import test_spoilt_answers as shared

from .shared import names_of

globals().update(names_of(shared))

pytestmark = [pytest.mark.release, pytest.mark.large]

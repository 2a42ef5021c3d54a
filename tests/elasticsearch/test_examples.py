"""The programs in examples/ find on Elasticsearch what a search finds, if its node scores."""

import pytest

from tests.opensearch import test_examples as shared

from .shared import names_of

globals().update(names_of(shared))

pytestmark = [pytest.mark.release, pytest.mark.large, pytest.mark.usefixtures("native_engine")]

"""The programs in examples/ find on Elasticsearch what a search finds, if its node scores."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_examples"))

pytestmark = [pytest.mark.release, pytest.mark.large, pytest.mark.usefixtures("native_engine")]

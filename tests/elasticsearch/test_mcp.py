"""A model searches an index of Elasticsearch over standard streams."""

import pytest

from .shared import names_of

globals().update(names_of("opensearch.test_mcp"))

pytestmark = [pytest.mark.release, pytest.mark.anyio]

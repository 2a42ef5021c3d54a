"""A model searches an index of Elasticsearch over standard streams."""

import pytest

from tests.opensearch import test_mcp as shared

from .shared import names_of

globals().update(names_of(shared))

pytestmark = [pytest.mark.release, pytest.mark.anyio]

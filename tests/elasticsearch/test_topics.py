"""Topics, rules and counts on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

globals().update(
    names_of(
        "opensearch.test_topics", test_the_command_line_knows_what_is_new="asks as mining does"
    )
)

pytestmark = pytest.mark.release

"""`slice-os doctor --store` on Elasticsearch, as on OpenSearch."""

import pytest

from .shared import names_of

left_out = {"test_scripts_that_are_not_allowed_are_no_failure": "this node never runs scripts"}
globals().update(names_of("opensearch.test_doctor", **left_out))

pytestmark = pytest.mark.release

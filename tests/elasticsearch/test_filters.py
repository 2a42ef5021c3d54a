"""Filters on Elasticsearch admit what they admit in a local store."""

import pytest

from tests.opensearch.test_filters import (
    stores,
    test_an_index_tells_what_does_not_occur,
    test_an_index_with_the_former_types_of_fields,
    test_both_stores_admit_the_same,
    test_both_stores_find_documents_by_id,
    test_both_stores_have_the_same_days,
    test_both_stores_tell_the_values_of_fields,
    test_every_way_to_search_obeys,
    test_the_command_line_filters_and_exports,
    test_too_many_texts_to_order,
    test_what_an_index_refuses,
)

__all__ = [
    "stores",
    "test_an_index_tells_what_does_not_occur",
    "test_an_index_with_the_former_types_of_fields",
    "test_both_stores_admit_the_same",
    "test_both_stores_find_documents_by_id",
    "test_both_stores_have_the_same_days",
    "test_both_stores_tell_the_values_of_fields",
    "test_every_way_to_search_obeys",
    "test_the_command_line_filters_and_exports",
    "test_too_many_texts_to_order",
    "test_what_an_index_refuses",
]

pytestmark = pytest.mark.release

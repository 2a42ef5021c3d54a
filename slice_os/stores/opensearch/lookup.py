"""Reading records by their ids, which finds them refreshed or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opensearchpy import OpenSearch

from slice_os.errors import UnavailableError
from slice_os.stores.opensearch.connection import reason_of
from slice_os.stores.opensearch.indices import errors_explained
from slice_os.stores.opensearch.retry import retrying


@retrying
def find_records(
    client: OpenSearch, index: str, keys: Sequence[str], location: str
) -> list[dict[str, Any]]:
    """Those of the records that are there.

    Raises:
        StoreError: if the index cannot say of one of them, such as while a shard is away.
    """
    if not keys:
        return []
    with errors_explained(location):
        answers = client.mget(index=index, body={"ids": list(keys)})["docs"]
    for answer in answers:
        if "error" in answer:
            raise UnavailableError(f"{location}: OpenSearch says {reason_of(answer['error'])}")
    return [answer["_source"] for answer in answers if answer["found"]]

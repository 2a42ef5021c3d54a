"""Refusing answers that lack a part, which OpenSearch and proxies may send with status 200."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slice_os.errors import UnavailableError
from slice_os.stores.opensearch.server.connection import reason_of


def complete(answer: Any, location: str, *needed: str) -> Any:
    """The answer, if it is whole; of a multi-search, also each part that did not fail by itself.

    Args:
        answer: of the server.
        location: how messages call the store.
        needed: names that the answer must have.

    Raises:
        UnavailableError: if shards failed, if the server ran out of time, or if something else
            than OpenSearch answered.
    """
    if needed and not (isinstance(answer, Mapping) and answer.keys() >= set(needed)):
        raise UnavailableError(
            f"{location}: the answer is not one of OpenSearch; is there a proxy in between?"
        )
    if not isinstance(answer, Mapping):
        return answer
    for part in answer.get("responses", [answer]):
        if "error" in part:
            continue  # whoever asked tells refusals apart
        if part.get("timed_out"):
            problem = "the server stopped at its own time limit"
        elif failed := part.get("_shards", {}).get("failed"):
            problem = _failed(failed, part["_shards"])
        else:
            continue
        raise UnavailableError(f"{location}: the answer is incomplete, {problem}; try again")
    return answer


def _failed(failed: int, shards: Mapping[str, Any]) -> str:
    told = f"{failed} of {shards.get('total')} shards failed"
    for failure in shards.get("failures", ()):
        return f"{told} ({reason_of(failure.get('reason', {}))})"
    return told

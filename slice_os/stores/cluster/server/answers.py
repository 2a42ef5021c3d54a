"""A server's answers: errors as one line, incomplete answers, and retries while it is busy."""

from __future__ import annotations

import os
import random
import re
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from http import HTTPStatus
from http.client import responses as http_phrases
from typing import Any, ParamSpec, TypeVar

from opensearchpy import exceptions

from slice_os.errors import InputError, StoreError, UnavailableError

LONGEST_REASON = 300
_MISSING = re.compile(r"(?<=missing )shards \[\[.*?\]\]|(?<=No shard available for \[get )\[.*?\]")

VARIABLE = "SLICE_OS_RETRY_SECONDS"
RETRY_SECONDS = 300.0
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 10.0

P = ParamSpec("P")
T = TypeVar("T")


class NotFoundError(StoreError):
    """An index or a record that the server does not have."""


def complete(answer: Any, location: str, *needed: str) -> Any:
    """The answer, if it is whole; of a multi-search, also each part that did not fail by itself.

    ``needed`` are names that the answer must have.

    Raises an `UnavailableError` if shards failed, if the server ran out of time, or if something
    else than a search engine answered.
    """
    if needed and not (isinstance(answer, Mapping) and answer.keys() >= set(needed)):
        raise _foreign(location)
    if not isinstance(answer, Mapping):
        return answer
    for part in answer.get("responses", [answer]):
        if "error" in part:
            continue  # whoever asked tells refusals apart
        if part.get("timed_out"):
            problem = "the server stopped at its own time limit"
        elif failed := part.get("_shards", {}).get("failed"):
            shards = part["_shards"]
            problem = f"{failed} of {shards.get('total')} shards failed"
            if failures := shards.get("failures"):
                problem += f" ({reason_of(failures[0].get('reason', {}))})"
        else:
            continue
        raise UnavailableError(f"{location}: the answer is incomplete, {problem}; try again")
    return answer


def explain(error: exceptions.OpenSearchException, location: str) -> StoreError:
    """A client's exception as one line that says what to do, without secrets.

    Returns an `UnavailableError` if the trouble may pass, a `NotFoundError` if it is the server
    that has not found something.
    """
    if isinstance(error, exceptions.AuthenticationException):
        return StoreError(
            f"{location}: login refused (401); check the user and SLICE_OS_PASSWORD, or "
            "SLICE_OS_TOKEN or ELASTIC_API_KEY"
        )
    if is_blocked(error):
        return StoreError(
            f"{location}: the index is read-only ({_reason(error)}); free disk space or lift the "
            "block, then run the same command again to resume"
        )
    if isinstance(error, exceptions.AuthorizationException):
        return StoreError(f"{location}: not allowed (403): {_reason(error)}")
    if isinstance(error, exceptions.SSLError):
        return StoreError(
            f"{location}: TLS failed ({one_line(error.error)}); check SLICE_OS_CA_CERTS, and "
            "SLICE_OS_CLIENT_CERT if the server requires one"
        )
    if isinstance(error, exceptions.SerializationError):
        return UnavailableError(
            f"{location}: the answer cannot be read; is there a proxy in between?"
        )
    kind = UnavailableError if is_passing(error) else StoreError
    if isinstance(error, exceptions.ConnectionError):
        return kind(f"{location}: no answer ({type(error).__name__}); is the server running?")
    info = _info(error)
    if "search_context_missing_exception" in str(info):
        return UnavailableError(
            f"{location}: the server has let go of what was being read, as after a pause of five "
            "minutes or when a node stops; try again"
        )
    if isinstance(error, exceptions.NotFoundError):
        if not info.keys() & {"error", "_index"}:
            return _foreign(location)
        kind = NotFoundError
    cause = info.get("error")
    if isinstance(cause, dict) and cause.get("type") == "index_closed_exception":
        return StoreError(
            f"{location}: {cause.get('index', 'the index')} is closed; open it, then run the same "
            "command again"
        )
    if error.args[:1] == (HTTPStatus.REQUEST_ENTITY_TOO_LARGE,):
        return StoreError(
            f"{location}: a request of some megabytes is too large (413); raise the limit there, "
            "or of the proxy in between, to 16 MB"
        )
    reason = _reason(error)
    if missing := _MISSING.search(reason):
        return UnavailableError(
            f"{location}: no node has {missing[0]}; wait for the node that had them, or start it"
        )
    return kind(f"{location}: the server says {reason}")


def _foreign(location: str) -> UnavailableError:
    return UnavailableError(
        f"{location}: the answer is not one of OpenSearch or Elasticsearch; is there a proxy "
        "in between?"
    )


def refusal(answer: Mapping[str, Any], location: str) -> StoreError:
    """As `explain`, for one of several answers that has failed by itself."""
    cause = answer.get("error", {})
    told = exceptions.TransportError(answer["status"], cause.get("type", ""), {"error": cause})
    return explain(told, location)


def no_index(location: str) -> StoreError:
    """The error to raise if there is no index at a location."""
    return StoreError(f"{location}: no index here; make one with `slice-os ingest`")


def deleted(location: str) -> StoreError:
    """The error to raise if an index that was there is gone."""
    return StoreError(f"{location}: the index was deleted meanwhile; run the same command again")


def is_blocked(error: exceptions.OpenSearchException) -> bool:
    """Whether a block on the index refused a request, such as that of a full disk.

    The block of a cluster that is just starting has a status of 500 or more, and does not count.
    """
    return (
        isinstance(error, exceptions.TransportError)
        and "cluster_block_exception" in str(error.error)
        and error.status_code in (403, 429)
    )


def is_passing(error: exceptions.OpenSearchException) -> bool:
    """Whether the trouble may pass: too many requests, a fault of the server, or no answer."""
    if not isinstance(error, exceptions.TransportError) or is_blocked(error):
        return False
    status = error.status_code
    if not isinstance(status, int):
        return not isinstance(error, exceptions.SSLError)
    return status == 429 or status >= 500


def reason_of(cause: Mapping[str, Any]) -> str:
    """The reason that an ``error`` object states, and its root cause."""
    outer = inner = (cause.get("root_cause") or [cause])[0]
    for start in (cause, outer):
        while isinstance(deeper := start.get("caused_by"), dict):
            start = inner = deeper
    bottom = str(inner.get("reason"))
    told = str(outer.get("reason")) or bottom
    return one_line(told if bottom in told else f"{told} ({bottom})")


def _info(error: exceptions.OpenSearchException) -> dict[str, Any]:
    """The body of an answer with an error; empty if it is none of the server's."""
    info = error.info if isinstance(error, exceptions.TransportError) else None
    return info if isinstance(info, dict) else {}


def _reason(error: exceptions.OpenSearchException) -> str:
    if not isinstance(error, exceptions.TransportError):
        return one_line(error)
    info = _info(error)
    if isinstance(cause := info.get("error"), dict):
        return reason_of(cause)
    # Anything else may be the page of a proxy.
    phrase = http_phrases.get(error.status_code) if isinstance(error.status_code, int) else None
    told = info.get("Message") or info.get("message") or phrase or ""
    return one_line(f"{error.status_code} {told}")


def one_line(text: object) -> str:
    """A text as one line of limited length."""
    return textwrap.shorten(str(text), LONGEST_REASON, placeholder=" …")


def retry_limit() -> float:
    """The limit of all retries: 300 seconds, unless ``SLICE_OS_RETRY_SECONDS`` says otherwise.

    Raises an `InputError` if that is not a number of seconds.
    """
    text = os.environ.get(VARIABLE) or str(RETRY_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"{VARIABLE}={text!r}: give a number of seconds, 0 or more")
    return seconds


def pauses(limit: float) -> Iterator[float]:
    """Seconds to wait before each further attempt; they double, vary, and end at the limit."""
    deadline = time.monotonic() + limit
    pause = FIRST_PAUSE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        yield min(left, pause * random.uniform(0.5, 1.0))  # noqa: S311  jitter, no secret
        pause = min(LONGEST_PAUSE_SECONDS, 2 * pause)


def retrying(function: Callable[P, T]) -> Callable[P, T]:
    """Call again, with pauses, while the server is down or too busy.

    Args:
        function: safe to call again; raises `UnavailableError` if the trouble may pass.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        limit = retry_limit()
        waits = pauses(limit)
        while True:
            try:
                return function(*args, **kwargs)
            except UnavailableError as error:
                if (pause := next(waits, None)) is None:
                    raise given_up(error, limit) from None
                time.sleep(pause)

    return call


def given_up(error: UnavailableError, limit: float) -> UnavailableError:
    """The error to raise when the limit is reached."""
    return UnavailableError(f"{error} (for {limit:.0f} s); run the same command again to resume")

"""Odd values in every field of every request: each is answered, refused in one line, and no fault.

    python -m tests.soak.fields --out benchmarks/results/soak_fields.json

Asks a service in this process. Each field of valid bodies has each odd value in turn, is left out,
comes twice, or has a strange name; so have parts of addresses and parameters.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.testclient import TestClient

from slice_os import Corpus
from slice_os.service.app import create_app
from slice_os.service.settings import ServiceSettings
from tests.service.conftest import DOCUMENTS
from tests.soak.report import options, tell

# As JSON writes them, or does not.
ODD = (
    *("null", "true", "[]", "{}", '""', '" "', "0", "-1", "3.5", "1e308", "-1e-320"),
    *("NaN", "Infinity", "-Infinity", "9007199254740993", "18446744073709551616", "1" + "0" * 400),
    *("1" + "0" * 5_000, "1e400", '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\u202e=1+1"'),
    *('"../../etc/passwd"', '"%2e%2e%2f"', '"a\\nb\\r\\n"', '"<img src=x onerror=alert(1)>"'),
    *('"' + "a" * 20_001 + '"', '["\\ud800"]', "[" * 31 + "]" * 31, "[" * 500 + "]" * 500),
    *('{"a":' * 20 + "1" + "}" * 20, "[" + "1," * 3_000 + "1]", '[[], {}, null, "a"]'),
    *('{"\\ud800": 1}', '{"' + "k" * 10_000 + '": 1}', '{"a": 1, "a": 2}', '{"_id": ["a", null]}'),
    *('{"csat": {"gte": NaN}}', '{"csat": {"gte": 1e308}}', '{"csat": {"gte": "2026-13-45"}}'),
    *('{"csat": {"gte": "99999-01-01"}}', '{"day": {"ne": [[]]}}', '{"": ""}', "2", '"cancel"'),
)
STRANGE = ("\\ud800", "", "a\\n\\nb", "k" * 10_000, "__class__", "$ref", "a\\u0000b")
TEXTS = ("", " ", "a" * 5_000, "../x", "%00", "\ud800", "-1", "1e9", "NaN", "9" * 400, "[]", "\r\n")

DAY = "2026-06-01"
_PART = {"topic": "cancel", "within": "3 turns", "after": "card", "times": 1, "documents": 1}
_OTHER = {"topic": "card", "speaker": "agent", "asked": False}
_OTHER |= {"first": "20 words", "last": "9 turns"}
_RULE = {"name": "a rule", "all": [_PART], "any": [_OTHER, "card"], "none": ["card"], "per": "turn"}
_WHERE = {"csat": {"gte": 2}, "domain": ["media", "finance"]}
_WORDS = {"topic": "cancel", "doc_id": "chat-1", "start": 0, "end": 5, "text": "My ca"}
_WORDS |= {"reader": "a"}
_LABEL = {
    **_WORDS,
    "settled": False,
    "label": True,
    "date": DAY,
    "speaker": "agent",
    "passage": {"start": 0, "end": 9, "text": "My card w"},
    "origin": {
        **dict.fromkeys(("model", "model_hash", "store", "version"), "m"),
        **dict.fromkeys(("threshold", "min_probability"), 0.5),
    },
}
TOPIC = {
    "name": "cancel",
    "phrases": ["cancel my plan"],
    "description": "who leaves",
    "counter_phrases": ["keep my plan"],
    "where": {"csat": {"lte": 4}},
    "threshold": 0.5,
    "unit": "span",
    "must_match": ["end my plan"],
    "learned": {"phrases": ["stop it"], "offset": 0.1, "scale": 1.0, "labels": 3, "date": DAY},
}
_MINING = {"topics": ["cancel"], "where": _WHERE, "unit": "span", "verify": False, "limit": 3}
BODIES: Mapping[str, Any] = {
    "POST /match": {"store": "calls", "topics": ["rule"], "offset": 0, "limit": 5},
    "POST /match?rule": {"rule": _RULE, "limit": 5},
    "POST /matrix": {**_MINING, "reader": "ann", "sections": True},
    "POST /matrix?format=csv": {**_MINING, "store": "calls"},
    "POST /labels": {"labels": [_LABEL], "store": "calls"},
    "DELETE /labels": _WORDS,
    "POST /topics": {**TOPIC, "name": "new"},
    "PUT /topics/cancel": TOPIC,
    "POST /mine": {**_MINING, "listing": "without", "max_count": 1},
    "POST /topics/cancel/estimate": {"store": "calls", "size": 5, "seed": 1},
    "POST /topics/cancel/suggest": {"limit": 3, "margin": 0.1, "where": _WHERE},
    "POST /topics/cancel/learn": {"exclusive": False},
}
ADDRESSES = (
    *("GET /labels?topic={}", "GET /labels?reader={}", "GET /labels?after={}"),
    *("GET /labels?limit={}", "GET /counts?by={}", "GET /counts?within={}"),
    *("GET /counts?store={}", "GET /counts.csv?by={}", "GET /counts?date_field={}"),
    *("POST /matrix?format={}", "GET /agreement?topic={}", "GET /topics/{}/counts"),
    *("GET /topics/{}", "DELETE /topics/{}", "GET /documents/{}", "GET /documents?after={}"),
    *("GET /documents?limit={}", "GET /search?q={}", "GET /disputes?topic={}"),
    *("GET /stores/{}/overview", "GET /pages/{}", "GET /fields/{}", "GET /search?q=a&facets={}"),
)


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    content: str

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.content}"[:300]


def odd_requests() -> Iterator[Asked]:
    for name, body in BODIES.items():
        method, path = name.split(" ")
        for content in dict.fromkeys(_changed(body)):
            yield Asked(method, path, content)
    for address in ADDRESSES:
        method, path = address.split(" ")
        for text in TEXTS:
            yield Asked(method, path.replace("{}", quote(text, errors="surrogatepass")), "")


def _changed(value: Any) -> Iterator[str]:
    """The JSON of a value in which one part is odd."""
    yield from ODD
    if isinstance(value, dict):
        whole = {key: json.dumps(one) for key, one in value.items()}
        for key, one in value.items():
            others = {other: text for other, text in whole.items() if other != key}
            yield object_of(others)
            yield object_of([*whole.items(), (key, "null")])
            for changed in _changed(one):
                yield object_of([*others.items(), (key, changed)])
        for key in STRANGE:
            yield object_of([*whole.items(), (key, "1")])
    elif isinstance(value, list):
        for changed in _changed(value[0]):
            yield f"[{changed}]"


def object_of(fields: Any) -> str:
    """The JSON of an object of fields that are JSON already."""
    pairs = fields.items() if isinstance(fields, dict) else fields
    return "{" + ",".join(f'"{key}":{text}' for key, text in pairs) + "}"


def fault(client: TestClient, asked: Asked) -> tuple[int, str]:
    """The status of an answer, and what is wrong with it."""
    # A lone surrogate is no UTF-8.
    content = asked.content.encode("utf-8", "surrogatepass")
    headers = {"Content-Type": "application/json"} if content else {}
    answer = client.request(
        asked.method, asked.path, content=content, headers=headers, follow_redirects=False
    )
    if answer.status_code < 400:
        return answer.status_code, ""
    try:
        error = answer.json()["error"]
        message = error["message"]
    except (ValueError, KeyError, TypeError):
        return answer.status_code, "an error in another form"
    if answer.status_code >= 500:
        return answer.status_code, message
    if "\n" in message or "Traceback" in message:
        return answer.status_code, f"not one line: {message!r}"
    return answer.status_code, f"{len(message):,} characters" if len(message) > 1_000 else ""


def prepare(client: TestClient) -> None:
    """Have the topics that are asked about, as they were."""
    rule = {"all": ["cancel"], "none": ["card"]}
    card = {"phrases": ["my card was stolen"]}
    for name, body in {"cancel": TOPIC, "card": card, "rule": rule}.items():
        if client.put(f"/topics/{name}", json=body).status_code == 409:
            client.put(f"/topics/{name}", json=body, headers={"If-Match": "*"})


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--every", type=int, default=1, help="ask only each of so many")
    chosen = parser.parse_args()
    statuses: dict[str, Counter[int]] = {}
    bad, longest, logged = [], (0.0, ""), []
    before: Asked | None = None
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        with Corpus(Path(folder, "calls")) as corpus:
            corpus.add(DOCUMENTS)
        app = create_app(ServiceSettings({"calls": str(Path(folder, "calls"))}, Path(folder)))
        logging.getLogger("slice_os").addHandler(handler)
        address = "http://127.0.0.1:8000"
        with TestClient(app, base_url=address, raise_server_exceptions=False) as client:
            for number, asked in enumerate(odd_requests()):
                if number % chosen.every:
                    continue
                if before is None or "/topics" in before.path:
                    prepare(client)
                before = asked
                began = time.process_time()
                status, why = fault(client, asked)
                longest = max(longest, (round(time.process_time() - began, 2), str(asked)))
                kind = f"{asked.method} {asked.path.split('?')[0][:30]}"
                statuses.setdefault(kind, Counter())[status] += 1
                if why:
                    bad.append(f"{status} {asked}: {why}")
    report = {"statuses": statuses, "longest": longest, "logged": logged[:20], "bad": bad[:50]}
    tell(report, chosen.out, failed=bad or logged)


if __name__ == "__main__":
    main()

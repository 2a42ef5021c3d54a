"""Clients of a service that do everything at once, and know what must then be there."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from itertools import count, islice
from typing import Any, Protocol

import httpx

from tests.soak.kills import DEMO, PHRASES

ENDINGS = ("", " please", " today", " as soon as possible", " if you can", " at once")
TOPICS = tuple(f"topic-{number}" for number in range(5))
THRESHOLD = 0.6
PATIENCE = 700.0
MOST_OPEN = 2_000
# The service closes connections that are idle for five seconds. For each request, httpx compares
# every connection that is idle with all others.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=2.0)
# Of each kind.
TOLD_FAULTS = 5
DONE = ("200", "201", "204")
# Others of the server's errors would say that it failed.
FINE = frozenset((200, 201, 204, 404, 429, 503))
UNAVAILABLE = ("store_unavailable", "store_error", "stopping")


class Service(Protocol):
    """Where a service listens, and how often it was ended or started."""

    @property
    def address(self) -> str: ...

    turns: int


class Clients:
    """Steps of clients, each of which checks its answer.

    What a client sends may have been done if no answer came, and must have been if it said so:
    for each document and topic the possible versions are known, and for each label whether it is
    there, may be there, or is taken back.

    Attributes:
        answers: how often each step was answered with each status.
        seconds: that answers took by step, from the moment for which they were planned; and how
            ``late`` steps began.
        bad: what must not be.
    """

    def __init__(self, service: Service, documents: int, chosen: random.Random) -> None:
        self.service = service
        self.chosen = chosen
        with DEMO.open(encoding="utf-8") as stream:
            records = [json.loads(line) for line in islice(stream, documents)]
        self.texts = {one["id"]: "\n".join(turn["text"] for turn in one["text"]) for one in records}
        self.possible: dict[str, set[int | None]] = {key: {None} for key in self.texts}
        self.sent: dict[str, list[int]] = {key: [] for key in self.texts}
        self.phrases: dict[str, set[int]] = {}
        self.labels: dict[int, set[bool]] = {}
        self.answers: Counter[str] = Counter()
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.bad: list[str] = []
        self._busy: set[str] = set()
        self._numbers = count(1)
        self._http = httpx.AsyncClient(timeout=PATIENCE, limits=LIMITS)
        self.steps = {
            self.search: 60,
            self.mine: 3,
            self.mine_topics: 2,
            self.leave: 3,
            self.give_up: 3,
            self.show: 8,
            self.write: 6,
            self.delete: 2,
            self.label: 8,
            self.take_back: 2,
            self.read_labels: 1,
            self.topic: 2,
        }

    async def begin(self) -> None:
        """Store all documents, and topics."""
        for key in self.texts:
            self.sent[key].append(0)
            self.possible[key] = {0}
        documents = [
            {"id": key, "text": self.text(key, 0), "metadata": {"version": 0}} for key in self.texts
        ]
        for first in range(0, len(documents), 50):
            body = {"documents": documents[first : first + 50]}
            (await self.ask("POST", "/documents", body)).raise_for_status()
        for name in TOPICS:
            assert await self.put(name) == 201

    async def offer(self, rate: float, seconds: float) -> None:
        """Begin so many steps a second at random moments, whether or not others have ended."""
        planned = time.monotonic()
        end = planned + seconds
        running: set[asyncio.Task[None]] = set()
        while planned < end:
            await asyncio.sleep(max(0.0, planned - time.monotonic()))
            if len(running) < MOST_OPEN:
                task = asyncio.create_task(self.step(planned))
                running.add(task)
                task.add_done_callback(running.discard)
            else:
                self.answers["not begun"] += 1
            planned += self.chosen.expovariate(rate)
        await asyncio.gather(*running)

    async def hurry(self, clients: int, seconds: float) -> float:
        """Each client begins a step as soon as its last one has ended; steps done a second."""
        end = time.monotonic() + seconds
        before = self.done()

        async def one() -> None:
            while time.monotonic() < end:
                await self.step(time.monotonic())

        await asyncio.gather(*(one() for _ in range(clients)))
        return (self.done() - before) / seconds

    def done(self) -> int:
        """Steps that were answered, and not refused."""
        return sum(n for name, n in self.answers.items() if name.rpartition(" ")[2] in DONE)

    async def step(self, planned: float) -> None:
        (act,) = self.chosen.choices(list(self.steps), list(self.steps.values()))
        turns = self.service.turns
        self.seconds["late"].append(time.monotonic() - planned)
        try:
            status = await act()
            told = str(status)
            if told in DONE:
                self.seconds[act.__name__].append(time.monotonic() - planned)
            if status not in FINE:
                self.complain(f"{act.__name__}: status {status}")
        except httpx.TransportError as error:
            told = "no answer"
            if turns % 2 and self.service.turns == turns:
                self.complain(f"{act.__name__}: {error!r}")
        except Exception as error:
            told = "bad"
            self.complain(f"{act.__name__}: {error!r}")
        self.answers[f"{act.__name__} {told}"] += 1

    def complain(self, what: str) -> None:
        self.answers["bad"] += 1
        if self.bad.count(what[:500]) < TOLD_FAULTS:
            self.bad.append(what[:500])

    async def ask(self, method: str, path: str, body: object = None, **more: Any) -> httpx.Response:
        address = f"{self.service.address}{path}"
        return await self._http.request(method, address, json=body, **more)

    async def search(self) -> int:
        answer = await self.ask("POST", "/search", {"phrases": self.phrase(), "top_k": 10})
        if answer.status_code == 200:
            self.check(answer.json()["hits"])
        return answer.status_code

    async def mine(self) -> int:
        return await self.stream({"phrases": self.phrase(), "threshold": THRESHOLD})

    async def mine_topics(self) -> int:
        return await self.stream({"topics": [self.chosen.choice(TOPICS)]})

    async def leave(self) -> int:
        """Mine, and go away after some of the answer."""
        return await self.stream({"phrases": self.phrase(), "threshold": 0.0}, leaving=True)

    async def stream(self, body: object, leaving: bool = False) -> int:
        """The lines of an answer; the last one must be a summary."""
        address = f"{self.service.address}/mine"
        async with self._http.stream("POST", address, json=body) as answer:
            lines = []
            async for line in answer.aiter_lines():
                if answer.status_code != 200 or leaving:
                    return answer.status_code
                lines.append(json.loads(line))
        if not lines:
            raise httpx.RemoteProtocolError("no lines")
        if error := lines[-1].get("error"):
            assert error["code"] in UNAVAILABLE, error
            return 503
        if "summary" not in lines[-1]:
            raise httpx.RemoteProtocolError("no summary")
        self.check(line["hit"] for line in lines if "hit" in line)
        return answer.status_code

    async def give_up(self) -> int:
        """Search, and go away before the answer."""
        with suppress(TimeoutError, asyncio.TimeoutError):
            body = {"phrases": self.phrase(), "top_k": 10}
            waited = self.chosen.uniform(0.01, 0.5)
            return (await asyncio.wait_for(self.ask("POST", "/search", body), waited)).status_code
        return 200

    async def show(self) -> int:
        """Read a document, which must be what was sent last."""
        if (key := self.take(self.texts)) is None:
            return 200
        try:
            answer = await self.ask("GET", f"/documents/{key}")
            self.check_document(key, answer)
            return answer.status_code
        finally:
            self._busy.discard(key)

    async def write(self) -> int:
        """Store a document, or a new version of it."""
        if (key := self.take(self.texts)) is None:
            return 200
        version = next(self._numbers)
        self.sent[key].append(version)
        document = {"id": key, "text": self.text(key, version), "metadata": {"version": version}}
        return await self.change(key, version, "POST", "/documents", {"documents": [document]})

    async def delete(self) -> int:
        if (key := self.take(self.texts)) is None:
            return 200
        return await self.change(key, None, "DELETE", f"/documents/{key}")

    async def change(
        self, key: str, version: int | None, method: str, path: str, body: object = None
    ) -> int:
        """Change a document, and note which versions are possible then."""
        before = self.possible[key]
        self.possible[key] = before | {version}
        try:
            answer = await self.ask(method, path, body)
            assert answer.status_code != 404 or None in before, f"{key} is lost"
            if answer.status_code in (200, 204, 404):
                self.possible[key] = {version}
            elif answer.status_code == 429:
                self.possible[key] = before
            return answer.status_code
        finally:
            self._busy.discard(key)

    async def topic(self) -> int:
        """Give a topic another phrase."""
        if (name := self.take(self.phrases)) is None:
            return 200
        return await self.put(name, {"If-Match": "*"})

    async def put(self, name: str, headers: dict[str, str] | None = None) -> int:
        """Add a topic, or replace it."""
        number = next(self._numbers)
        before = self.phrases.get(name, set())
        self.phrases[name] = before | {number}
        try:
            body = {"phrases": [f"{PHRASES[number % len(PHRASES)]} {number}"]}
            answer = await self.ask("PUT", f"/topics/{name}", body, headers=headers)
            if answer.is_success:
                self.phrases[name] = {number}
            elif answer.status_code == 429:
                self.phrases[name] = before
            return answer.status_code
        finally:
            self._busy.discard(name)

    async def label(self) -> int:
        number = next(self._numbers)
        self.labels[number] = {True, False}
        body = {"labels": [{**self.words(number), "label": bool(number % 2)}]}
        answer = await self.ask("POST", "/labels", body)
        if answer.status_code in (200, 429):
            self.labels[number] = {answer.status_code == 200}
        return answer.status_code

    async def take_back(self) -> int:
        there = (n for n, state in reversed(self.labels.items()) if state == {True})
        if (number := next(there, None)) is None:
            return 200
        self.labels[number] = {True, False}
        answer = await self.ask("DELETE", "/labels", self.words(number))
        assert answer.status_code != 404, f"label {number} is lost"
        if answer.status_code in (204, 429):
            self.labels[number] = {answer.status_code == 429}
        return answer.status_code

    async def read_labels(self) -> int:
        """Read some labels, and how far readers agree."""
        answer = await self.ask("GET", "/labels?limit=20")
        if answer.is_success:
            answer = await self.ask("GET", "/agreement")
        return answer.status_code

    def words(self, number: int) -> dict[str, Any]:
        place = {"doc_id": f"words-{number}", "start": number, "end": number + 5}
        return {"topic": TOPICS[number % len(TOPICS)], **place, "text": f"{number:05}"[-5:]}

    def phrase(self) -> str:
        return self.chosen.choice(PHRASES) + self.chosen.choice(ENDINGS)

    def text(self, key: str, version: int) -> str:
        """A version of a document."""
        return f"{self.texts[key]}\nThis is version {version}."

    def take(self, names: Iterable[str]) -> str | None:
        """A name that no other client changes now, until it is discarded; None if there is none."""
        if not (free := [name for name in names if name not in self._busy]):
            return None
        self._busy.add(name := self.chosen.choice(free))
        return name

    def check(self, hits: Iterable[dict[str, Any]]) -> None:
        """Each hit is a span of a version that was sent."""
        for hit in hits:
            span = slice(hit["start"], hit["end"])
            versions = reversed(self.sent[hit["doc_id"]])
            found = any(self.text(hit["doc_id"], one)[span] == hit["text"] for one in versions)
            assert found, f"no such words: {hit}"

    def check_document(self, key: str, answer: httpx.Response) -> None:
        """A document is one of the versions that it may be; then it must stay that one."""
        if answer.status_code not in (200, 404):
            return
        found: int | None = None
        if answer.status_code == 200:
            found = answer.json()["metadata"]["version"]
            assert answer.json()["text"] == self.text(key, int(found or 0)), f"{key} is not whole"
        assert found in self.possible[key], f"{key} is {found}, not one of {self.possible[key]}"
        self.possible[key] = {found}

    def held(self) -> dict[str, int]:
        """How many things are there for certain."""
        return {
            "documents": sum(None not in versions for versions in self.possible.values()),
            "labels": sum(state == {True} for state in self.labels.values()),
            "topics": len(self.phrases),
        }

    async def check_all(self) -> None:
        """Everything that was acknowledged is there."""
        for key in self.texts:
            self.check_document(key, await self.ask("GET", f"/documents/{key}"))
        listed = (await self.ask("GET", "/documents?limit=1000")).json()["documents"]
        stored = {key for key, versions in self.possible.items() if versions != {None}}
        assert {one["id"] for one in listed} == stored, "other documents are listed"
        for name, numbers in self.phrases.items():
            (phrase,) = (await self.ask("GET", f"/topics/{name}")).json()["phrases"]
            assert int(phrase.split()[-1]) in numbers, f"{name} has {phrase!r}, not of {numbers}"
        labels = await self.stored_labels()
        for number, states in self.labels.items():
            answered = labels.pop(f"words-{number}", None)
            assert (answered is not None) in states, f"label {number}: {answered}, not {states}"
            assert answered in (None, bool(number % 2)), f"label {number} is another answer"
        assert not labels, f"labels that nobody gave: {list(labels)[:3]}"

    async def stored_labels(self) -> dict[str, bool]:
        """What the service says of labels, by document."""
        found: dict[str, bool] = {}
        after: int | None = 0
        while after is not None:
            page = (await self.ask("GET", f"/labels?limit=1000&after={after}")).json()
            found |= {one["doc_id"]: one["label"] for one in page["labels"]}
            after = page["next"]
        return found

    async def close(self) -> None:
        await self._http.aclose()

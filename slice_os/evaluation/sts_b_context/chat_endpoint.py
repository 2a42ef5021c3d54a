"""Text from a language model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import orjson

from slice_os.errors import InputError, SliceError

KEY_VARIABLE = "OPENAI_API_KEY"
_FORM = "the endpoint's address is not of the form http(s)://HOST[:PORT]/PATH"
ATTEMPTS = 4
TIMEOUT = 120.0
AT_ONCE = 4


class _NoRedirects(HTTPRedirectHandler):
    """Leaves a redirect as an answer: the key must not go to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = build_opener(_NoRedirects)


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Chat completions of one model; the key is taken from ``OPENAI_API_KEY`` if that is set.

    Attributes:
        url: base address, such as ``https://api.openai.com/v1``.
        model: its name there.
        pause: seconds before the first retry of a request; doubled for each further one.

    Raises:
        InputError: if the address is not an HTTP one, or has a password or a query.
    """

    url: str
    model: str
    pause: float = 1.0

    def __post_init__(self) -> None:
        # The address may have a secret anywhere, so it is not repeated.
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            raise InputError(_FORM) from None
        if not usable or parts.query or parts.fragment:
            raise InputError(_FORM)
        if "@" in parts.netloc:
            raise InputError(
                f"a password does not belong in the endpoint's address; set {KEY_VARIABLE}"
            )

    def answer(self, prompts: Sequence[str]) -> Iterator[str]:
        """The answer to each prompt, in order; several are requested at a time.

        Raises:
            SliceError: if the endpoint refuses, or does not answer with a chat completion.
        """
        with ThreadPoolExecutor(AT_ONCE) as executor:
            try:
                yield from executor.map(self._ask, prompts)
            finally:
                executor.shutdown(cancel_futures=True)

    def _ask(self, prompt: str) -> str:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._request(prompt)
            except HTTPError as error:
                reason = f"answered {error.code} {error.reason}"
                if attempt == ATTEMPTS or not (error.code == 429 or error.code >= 500):
                    break
            except (OSError, HTTPException) as error:
                reason = f"does not answer ({error})"
                if attempt == ATTEMPTS:
                    break
            time.sleep(self.pause * 2 ** (attempt - 1))
        raise SliceError(f"{self.url} {reason}; check the address, and {KEY_VARIABLE}")

    def _request(self, prompt: str) -> str:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY_VARIABLE, "").strip():
            if not (key.isascii() and key.isprintable()):
                raise InputError(f"{KEY_VARIABLE}: has characters that a key cannot have")
            headers["Authorization"] = f"Bearer {key}"
        content = {"model": self.model, "messages": [{"role": "user", "content": prompt}]}
        request = Request(  # noqa: S310  the scheme was checked
            f"{self.url.rstrip('/')}/chat/completions", orjson.dumps(content), headers
        )
        with _OPENER.open(request, timeout=TIMEOUT) as response:
            body = response.read()
        try:
            answer = orjson.loads(body)["choices"][0]["message"]["content"]
        except (orjson.JSONDecodeError, LookupError, TypeError):
            answer = None
        if not isinstance(answer, str):
            raise SliceError(f"{self.url} answered without a chat completion; is it one?")
        return answer

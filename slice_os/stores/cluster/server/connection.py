"""Connections to OpenSearch from a location and the environment, and an index on a server."""

from __future__ import annotations

import logging
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import opensearchpy
from opensearchpy import OpenSearch, exceptions
from urllib3 import Timeout

from slice_os.errors import InputError, StoreError, imported
from slice_os.stores.addresses import is_loopback
from slice_os.stores.cluster.server.answers import complete, explain, one_line

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch


TIMEOUT_SECONDS = 120
# Of each of four attempts; a host that is away must not keep anybody for as long as an answer may.
CONNECT_SECONDS = 10
CONNECTIONS = 8
PREFIX = "SLICE_OS_"
# Certificate authorities, the client's certificate, and the key of that; the client's options.
TLS_FILES = ("ca_certs", "client_cert", "client_key")
_TIMEOUT = Timeout(connect=CONNECT_SECONDS, read=TIMEOUT_SECONDS)
_FORM = "not of the form http(s)://[user@]host[:port]/index"

logger = logging.getLogger("slice_os")


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of an index, and a login: a user and password, or a bearer token, or neither.

    Files are for TLS, by the names of `TLS_FILES`. With an AWS region, requests are signed with
    SigV4 for it; the service is ``es``, or ``aoss`` for OpenSearch Serverless.
    """

    url: str
    index: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    files: Mapping[str, str] = field(default_factory=dict)
    aws_region: str | None = None
    aws_service: str = "es"

    @property
    def location(self) -> str:
        """The address, without any secret."""
        return f"{self.url}/{self.index}"

    def client(self) -> OpenSearch:
        """A client for this connection.

        Raises a `StoreError` if a certificate cannot be read, or there are no AWS credentials, and
        a `MissingExtraError` if signing for AWS needs boto3, which is not installed.
        """
        with self._problems_explained():
            return OpenSearch(**self._options(asynchronous=False))

    def async_client(self) -> AsyncOpenSearch:
        """An asyncio client, as `client`; it needs aiohttp."""
        imported("aiohttp", "The asyncio client", "async")
        with self._problems_explained():
            return opensearchpy.AsyncOpenSearch(**self._options(asynchronous=True))

    @contextmanager
    def _problems_explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            files = ", ".join(self.files.values())
            reason = error.strerror or type(error).__name__
            raise StoreError(f"{self.location}: cannot use {files} ({reason})") from None
        except exceptions.ImproperlyConfigured as error:
            raise StoreError(f"{self.location}: {one_line(error)}") from None

    def _options(self, asynchronous: bool) -> dict[str, Any]:
        options: dict[str, Any] = {
            "hosts": [self.url],
            "timeout": TIMEOUT_SECONDS if asynchronous else _TIMEOUT,
            "pool_maxsize": CONNECTIONS,
            **self.files,
        }
        if self.aws_region:
            options |= _aws(self.aws_region, self.aws_service, asynchronous)
        elif self.token:
            options["headers"] = {"authorization": f"Bearer {self.token}"}
        elif self.user:
            # The client would encode as Latin-1, and fail on other passwords.
            pair = b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
            options["headers"] = {"authorization": f"Basic {pair}"}
        return options


def parse_location(location: str, environ: Mapping[str, str] = os.environ) -> Connection:
    """The connection for ``http(s)://[user@]host[:port]/index``.

    Secrets come from the environment: ``SLICE_OS_PASSWORD`` or ``SLICE_OS_TOKEN``, or a file
    that ``SLICE_OS_PASSWORD_FILE`` or ``SLICE_OS_TOKEN_FILE`` names. So do
    ``SLICE_OS_CA_CERTS``, ``SLICE_OS_CLIENT_CERT``, ``SLICE_OS_CLIENT_KEY``,
    ``SLICE_OS_AWS_REGION`` and ``SLICE_OS_AWS_SERVICE``.

    Raises:
        StoreError: on a location of another form, or with a password in it; or if a secret
            cannot be read or sent.
        InputError: on a name that no index can have.
    """
    # A malformed location may contain a password anywhere, so it is never repeated.
    try:
        parts = urlsplit(location)
        port = parts.port
    except ValueError:
        raise StoreError(f"the store's address is {_FORM}") from None
    if parts.password is not None:
        raise StoreError(
            "a password does not belong in the store's address; set SLICE_OS_PASSWORD or "
            "SLICE_OS_PASSWORD_FILE"
        )
    index = parts.path.strip("/")
    if not parts.hostname or not re.fullmatch("[^/@]+", index) or parts.query or parts.fragment:
        raise StoreError(f"the store's address is {_FORM}")
    check_name(index)
    user = unquote(parts.username) if parts.username else None
    password, token = _secret("PASSWORD", environ), _secret("TOKEN", environ)
    aws_region = environ.get(PREFIX + "AWS_REGION")
    sends_secret = not aws_region and (token or (user and password))
    local = is_loopback(parts.hostname) or parts.hostname.endswith(".localhost")
    if parts.scheme == "http" and sends_secret and not local:
        _warn_of_plain_http(parts.hostname)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = port or (443 if parts.scheme == "https" else 80)
    return Connection(
        url=f"{parts.scheme}://{host}:{port}",
        index=index,
        user=user,
        password=password,
        token=token,
        files={name: file for name in TLS_FILES if (file := environ.get(PREFIX + name.upper()))},
        aws_region=aws_region,
        aws_service=environ.get(PREFIX + "AWS_SERVICE", "es"),
    )


@cache
def _warn_of_plain_http(host: str) -> None:
    """Say once that everybody between here and the host can read the secret."""
    logger.warning(
        "http://%s: the password or token goes there unencrypted, for others to read; use https://",
        host,
    )


def _secret(name: str, environ: Mapping[str, str]) -> str | None:
    """A secret from the environment, or from the file that it names; no error repeats it."""
    variable, secret = PREFIX + name, environ.get(PREFIX + name)
    if file := environ.get(f"{variable}_FILE"):
        variable = f"{variable}_FILE: {file}"
        try:
            secret = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise StoreError(f"{variable}: {reason}") from None
    secret = secret.strip("\r\n") if secret else None
    if secret and name == "TOKEN" and not (secret.isascii() and secret.isprintable()):
        raise StoreError(f"{variable}: has characters that a token cannot have")
    return secret


def _aws(region: str, service: str, asynchronous: bool) -> dict[str, Any]:
    boto3 = imported("boto3", "Signing requests for AWS", "aws")
    credentials = boto3.Session().get_credentials()
    if credentials is None:
        raise StoreError(
            f"{PREFIX}AWS_REGION is set, but there are no AWS credentials; set AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    signer, connection = ("RequestsAWSV4SignerAuth", "RequestsHttpConnection")
    if asynchronous:
        signer, connection = ("AWSV4SignerAsyncAuth", "AsyncHttpConnection")
    return {
        "http_auth": getattr(opensearchpy, signer)(credentials, region, service),
        "connection_class": getattr(opensearchpy, connection),
    }


def check_name(name: str) -> None:
    """Raise an `InputError` on a name that OpenSearch does not accept for an index."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,200}", name):
        raise InputError(
            f"index name {name!r}: use lower-case letters, digits, '.', '_' and '-', and begin "
            "with a letter or digit"
        )


@dataclass(frozen=True, slots=True)
class IndexHandle:
    """An index or alias on a server; messages call it by its location, which has no secret."""

    client: OpenSearch
    name: str
    location: str

    @classmethod
    def at(cls, location: str) -> IndexHandle:
        """The handle for ``http(s)://[user@]host[:port]/index``; see `parse_location`."""
        connection = parse_location(location)
        return cls(connection.client(), connection.index, connection.location)

    def named(self, name: str) -> IndexHandle:
        """Another index on the same server; messages call the store as before."""
        return replace(self, name=name)

    def errors_explained(self) -> AbstractContextManager[None]:
        """Turn the client's exceptions into one-line `StoreError`s."""
        return errors_explained(self.location)

    def ask(self, method: Callable[..., Any], *needed: str, **arguments: Any) -> Any:
        """What a method of the client answers about the index.

        If ``needed`` names what the answer must have, it has to be whole; see `complete`.
        """
        with self.errors_explained():
            answer = method(index=self.name, **arguments)
        return complete(answer, self.location, *needed) if needed else answer

    def mapping(self) -> dict[str, Any]:
        """The mapping of a concrete index."""
        found = self.ask(self.client.indices.get_mapping)
        mapping: dict[str, Any] = found[self.name]["mappings"]
        return mapping

    def refresh(self) -> None:
        """Make everything written so far searchable.

        Raises a `StoreError` if the server refuses, or not every shard could.
        """
        self.ask(self.client.indices.refresh, "_shards")


@contextmanager
def errors_explained(location: str) -> Iterator[None]:
    """Turn the client's exceptions into one-line `StoreError`s."""
    try:
        yield
    except exceptions.OpenSearchException as error:
        raise explain(error, location) from None

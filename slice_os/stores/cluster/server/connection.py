"""Connections to a server from a location and the environment, and an index there."""

from __future__ import annotations

import logging
import os
import re
from base64 import b64decode, b64encode
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
from slice_os.stores.cluster.engines.elasticsearch_engine import ELASTICSEARCH
from slice_os.stores.cluster.engines.engine import Engine
from slice_os.stores.cluster.engines.opensearch_engine import OPENSEARCH
from slice_os.stores.cluster.server.answers import NotFoundError, complete, explain, one_line
from slice_os.stores.cluster.server.detection import engine_at, engine_of

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
API_KEY = "ELASTIC_API_KEY"
CLOUD_ID = "ELASTIC_CLOUD_ID"
_CLOUD = "elasticsearch+cloud"
_NAMED = {"": None, "opensearch": OPENSEARCH, "elasticsearch": ELASTICSEARCH}
_FORM = "not of the form http(s)://[user@]host[:port]/index"
_HOST = r"[^\s%]+|\S+:\S+"  # an IPv6 address may have a zone

logger = logging.getLogger("slice_os")


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of an index, and a login: a user and password, a token, an API key, or nothing.

    Files are for TLS, by the names of `TLS_FILES`. With an AWS region, requests are signed with
    SigV4 for it; the service is ``es``, or ``aoss`` for OpenSearch Serverless. Without an engine,
    the server is asked which one it runs.
    """

    url: str
    index: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    files: Mapping[str, str] = field(default_factory=dict)
    aws_region: str | None = None
    aws_service: str = "es"
    engine: Engine | None = None
    api_key: str | None = field(default=None, repr=False)

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
            options = self._options(asynchronous=False)
            return self.find_engine().connect(options)

    def async_client(self) -> AsyncOpenSearch:
        """An asyncio client, as `client`; it needs aiohttp."""
        imported("aiohttp", "The asyncio client", "async")
        with self._problems_explained():
            return self.find_engine().connect_async(self._options(asynchronous=True))

    def find_engine(self) -> Engine:
        """The engine there; requests for OpenSearch alone are signed for AWS.

        Raises a `StoreError` as `engine_at`.
        """
        if self.aws_region:
            return OPENSEARCH
        return self.engine or engine_at(self.url, self.location, self._options(asynchronous=False))

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
        elif self.api_key:
            options["headers"] = {"authorization": f"ApiKey {self.api_key}"}
        return options


def parse_location(location: str, environ: Mapping[str, str] = os.environ) -> Connection:
    """The connection for ``http(s)://[user@]host[:port]/index``.

    The scheme may name the engine, as in ``elasticsearch+https``; otherwise the server is asked.
    ``elasticsearch+cloud://index`` is at the Cloud id in ``ELASTIC_CLOUD_ID``. Only addresses that
    name Elasticsearch are sent the API key in ``ELASTIC_API_KEY``.

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
    if location.startswith(f"{_CLOUD}://"):
        index = location.partition("://")[2].strip("/")
        location = f"elasticsearch+https://{_cloud_host(environ)}/{index}"
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
    host = parts.hostname if re.fullmatch(_HOST, parts.hostname or "") else None
    named, _, scheme = parts.scheme.rpartition("+")
    known = named in _NAMED and scheme in ("http", "https") and re.fullmatch("[^/@]+", index)
    if host is None or not known or parts.query or parts.fragment:
        raise StoreError(f"the store's address is {_FORM}")
    check_name(index)
    user = unquote(parts.username) if parts.username else None
    engine = _NAMED[named]
    password, token = (_secret(PREFIX + name, environ) for name in ("PASSWORD", "TOKEN"))
    api_key = _secret(API_KEY, environ) if engine is ELASTICSEARCH else None
    aws_region = environ.get(PREFIX + "AWS_REGION")
    sends_secret = not aws_region and (token or (user and password) or api_key)
    local = is_loopback(host) or host.endswith(".localhost")
    if scheme == "http" and sends_secret and not local:
        _warn_of_plain_http(host)
    host = f"[{host}]" if ":" in host else host
    port = port or (443 if scheme == "https" else 80)
    return Connection(
        url=f"{scheme}://{host}:{port}",
        index=index,
        user=user,
        password=password,
        token=token,
        files={name: file for name in TLS_FILES if (file := environ.get(PREFIX + name.upper()))},
        aws_region=aws_region,
        aws_service=environ.get(PREFIX + "AWS_SERVICE", "es"),
        engine=engine,
        api_key=api_key,
    )


@cache
def _warn_of_plain_http(host: str) -> None:
    """Say once that everybody between here and the host can read the secret."""
    logger.warning(
        "http://%s: the password or token goes there unencrypted, for others to read; use https://",
        host,
    )


def _cloud_host(environ: Mapping[str, str]) -> str:
    """Host and port of a Cloud id: a name, and in base64 a domain and the id of the cluster."""
    try:
        packed = environ[CLOUD_ID].rpartition(":")[2]
        domain, cluster, *_ = b64decode(packed).decode().split("$")
    except KeyError:
        raise StoreError(f"{_CLOUD}://…: set {CLOUD_ID}, which Elastic's console shows") from None
    except ValueError:
        raise StoreError(f"{CLOUD_ID}: not a Cloud id, such as NAME:BASE64") from None
    host, _, port = domain.partition(":")
    return f"{cluster}.{host}:{port or 443}"


def _secret(variable: str, environ: Mapping[str, str]) -> str | None:
    """A secret from the environment, or from the file that it names; no error repeats it."""
    as_header, secret = variable != f"{PREFIX}PASSWORD", environ.get(variable)
    if file := environ.get(f"{variable}_FILE"):
        variable = f"{variable}_FILE: {file}"
        try:
            secret = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise StoreError(f"{variable}: {reason}") from None
    secret = secret.strip("\r\n") if secret else None
    if secret and as_header and not (secret.isascii() and secret.isprintable()):
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
    """Raise an `InputError` on a name that no server accepts for an index."""
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

    @property
    def engine(self) -> Engine:
        """The engine of the server."""
        return engine_of(self.client)

    def ask(self, method: Callable[..., Any], *needed: str, **arguments: Any) -> Any:
        """What a method of the client answers about the index.

        If ``needed`` names what the answer must have, it has to be whole; see `complete`.
        """
        with self.errors_explained():
            try:
                answer = method(index=self.name, **arguments)
            except exceptions.NotFoundError:
                self._search_nothing()
                raise
        return complete(answer, self.location, *needed) if needed else answer

    def exists(self, **arguments: Any) -> bool:
        """Whether the server has an index or an alias of this name."""
        if self.ask(self.client.indices.exists, **arguments):
            return True
        try:
            self._search_nothing()
        except NotFoundError:
            return False
        return True

    def _search_nothing(self) -> None:
        """A node that starts denies every index until it knows them; then a search is no 404."""
        with self.errors_explained():
            self.client.search(index=self.name, body={"size": 0})

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

"""From a location and the environment to an OpenSearch client; secrets never in the location."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from opensearchpy import OpenSearch, exceptions

from slice_os.errors import MissingExtraError, StoreError

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

TIMEOUT_SECONDS = 120
PREFIX = "SLICE_OS_"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where an index is and how to log in.

    Attributes:
        url: scheme, host and port.
        index: name of the index or alias.
        user: for basic authentication.
        password: for basic authentication.
        token: a bearer token, instead of user and password.
        ca_certs: file of certificate authorities, for TLS.
        client_cert: certificate file, for TLS.
        client_key: key file of that certificate.
        aws_region: sign requests with AWS SigV4 for this region.
        aws_service: ``es``, or ``aoss`` for OpenSearch Serverless.
    """

    url: str
    index: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca_certs: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    aws_region: str | None = None
    aws_service: str = "es"

    @property
    def location(self) -> str:
        """The address without any secret."""
        return f"{self.url}/{self.index}"

    def client(self) -> OpenSearch:
        """A client for this connection."""
        return OpenSearch(**self._options(asynchronous=False))

    def async_client(self) -> AsyncOpenSearch:
        """An asyncio client for this connection.

        Raises:
            MissingExtraError: where aiohttp is not installed.
        """
        try:
            from opensearchpy import AsyncOpenSearch
        except ImportError:
            raise MissingExtraError("The asyncio client", "async") from None
        return AsyncOpenSearch(**self._options(asynchronous=True))

    def _options(self, asynchronous: bool) -> dict[str, Any]:
        options: dict[str, Any] = {"hosts": [self.url], "timeout": TIMEOUT_SECONDS}
        if self.aws_region:
            options |= _aws(self.aws_region, self.aws_service, asynchronous)
        elif self.token:
            options["headers"] = {"Authorization": f"Bearer {self.token}"}
        elif self.user:
            options["http_auth"] = (self.user, self.password or "")
        for name in ("ca_certs", "client_cert", "client_key"):
            if value := getattr(self, name):
                options[name] = value
        return options


def parse_location(location: str, environ: Mapping[str, str] = os.environ) -> Connection:
    """The connection for ``http(s)://[user@]host[:port]/index``.

    Secrets come from the environment: ``SLICE_OS_PASSWORD`` or ``SLICE_OS_TOKEN``, or a file
    that ``SLICE_OS_PASSWORD_FILE`` or ``SLICE_OS_TOKEN_FILE`` names. So do
    ``SLICE_OS_CA_CERTS``, ``SLICE_OS_CLIENT_CERT``, ``SLICE_OS_CLIENT_KEY``,
    ``SLICE_OS_AWS_REGION`` and ``SLICE_OS_AWS_SERVICE``.

    Raises:
        StoreError: on a location without an index, or with a password in it.
    """
    parts = urlsplit(location)
    if parts.password is not None:
        raise StoreError(
            "a password does not belong into the address; set SLICE_OS_PASSWORD or "
            "SLICE_OS_PASSWORD_FILE"
        )
    index = parts.path.strip("/")
    if not parts.hostname or not index or "/" in index:
        raise StoreError(
            f"{location}: not of the form http(s)://[user@]host[:port]/index; name the index"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return Connection(
        url=f"{parts.scheme}://{host}:{port}",
        index=index,
        user=unquote(parts.username) if parts.username else None,
        password=_secret("PASSWORD", environ),
        token=_secret("TOKEN", environ),
        ca_certs=environ.get(PREFIX + "CA_CERTS"),
        client_cert=environ.get(PREFIX + "CLIENT_CERT"),
        client_key=environ.get(PREFIX + "CLIENT_KEY"),
        aws_region=environ.get(PREFIX + "AWS_REGION"),
        aws_service=environ.get(PREFIX + "AWS_SERVICE", "es"),
    )


def explain(error: exceptions.OpenSearchException, location: str) -> StoreError:
    """A client's exception as one line that says what to do; never with a secret."""
    if isinstance(error, exceptions.AuthenticationException):
        return StoreError(f"{location}: not let in (401); check user and SLICE_OS_PASSWORD")
    if isinstance(error, exceptions.AuthorizationException) and not is_blocked(error):
        return StoreError(f"{location}: not allowed (403): {_reason(error)}")
    if is_blocked(error):
        return StoreError(
            f"{location}: the index is read-only ({_reason(error)}); free disk space or lift the "
            "block, then run the same command again to go on"
        )
    if isinstance(error, exceptions.SSLError):
        return StoreError(f"{location}: TLS failed ({error.error}); set SLICE_OS_CA_CERTS")
    if isinstance(error, exceptions.ConnectionError):
        return StoreError(f"{location}: no answer ({type(error).__name__}); is OpenSearch running?")
    return StoreError(f"{location}: OpenSearch says {_reason(error)}")


def is_blocked(error: exceptions.OpenSearchException) -> bool:
    """Whether a block on the index, such as that of a full disk, refused a request."""
    return isinstance(error, exceptions.TransportError) and (
        "cluster_block_exception" in str(error.error)
    )


def _reason(error: exceptions.OpenSearchException) -> str:
    if not isinstance(error, exceptions.TransportError):
        return str(error)
    info = error.info
    cause = info.get("error") if isinstance(info, dict) else None
    if isinstance(cause, dict):
        roots = cause.get("root_cause") or [cause]
        return str(roots[0].get("reason") or cause.get("reason") or error.error)
    return f"{error.status_code} {error.error}"


def _secret(name: str, environ: Mapping[str, str]) -> str | None:
    if file := environ.get(f"{PREFIX}{name}_FILE"):
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise StoreError(f"{PREFIX}{name}_FILE: {file}: {error.strerror}") from None
    return environ.get(PREFIX + name)


def _aws(region: str, service: str, asynchronous: bool) -> dict[str, Any]:
    try:
        import boto3
    except ImportError:
        raise MissingExtraError("Signing requests for AWS", "aws") from None
    from opensearchpy import (
        AsyncHttpConnection,
        AWSV4SignerAsyncAuth,
        RequestsAWSV4SignerAuth,
        RequestsHttpConnection,
    )

    credentials = boto3.Session().get_credentials()
    if asynchronous:
        return {
            "http_auth": AWSV4SignerAsyncAuth(credentials, region, service),
            "connection_class": AsyncHttpConnection,
        }
    return {
        "http_auth": RequestsAWSV4SignerAuth(credentials, region, service),
        "connection_class": RequestsHttpConnection,
    }

"""What is sent to log in, and that no secret appears anywhere else."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import ssl
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import orjson
import pytest
from opensearchpy import OpenSearch, OpenSearchException

from slice_os import Corpus, SliceError, SpanEncoder, StoreError
from slice_os.stores.cluster.server.connection import (
    Connection,
    _warn_of_plain_http,
    parse_location,
)
from slice_os.stores.registry import store_exists

from .double import Double, serving
from .support import call_cli, contents, documents

SECRET = "s3ntinel pass, wörd€"
TOKEN = "s3ntinel.t0ken-abc"
VARIABLES = (
    *("PASSWORD", "PASSWORD_FILE", "TOKEN", "TOKEN_FILE", "CA_CERTS", "CLIENT_CERT", "CLIENT_KEY"),
    *("AWS_REGION", "AWS_SERVICE"),
)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(f"SLICE_OS_{name}", raising=False)


@pytest.fixture
def double() -> Iterator[Double]:
    with serving(Double()) as server:
        yield server


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def with_user(url: str, user: str = "me") -> str:
    return url.replace("://", f"://{user}@") + "/calls"


def test_no_secret_is_sent_by_default(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICE_OS_PASSWORD", SECRET)
    assert not store_exists(f"{double.url}/calls")
    assert "authorization" not in double.headers[0]


def test_user_and_password(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICE_OS_PASSWORD", SECRET)
    assert not store_exists(with_user(double.url))
    assert double.headers[0]["authorization"] == basic("me", SECRET)


def test_password_from_a_file(
    double: Double, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\r\n", encoding="utf-8")
    monkeypatch.setenv("SLICE_OS_PASSWORD", "another")
    monkeypatch.setenv("SLICE_OS_PASSWORD_FILE", str(file))
    assert not store_exists(with_user(double.url, "me%40example.org"))
    assert double.headers[0]["authorization"] == basic("me@example.org", SECRET)


def test_bearer_token(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICE_OS_TOKEN", f"{TOKEN}\n")
    assert not store_exists(f"{double.url}/calls")
    assert double.headers[0]["authorization"] == f"Bearer {TOKEN}"


def test_the_async_client_sends_the_same(double: Double) -> None:
    pytest.importorskip("aiohttp")

    async def ask(location: str, environ: dict[str, str]) -> None:
        client = parse_location(location, environ).async_client()
        try:
            assert not await client.indices.exists(index="calls")
        finally:
            await client.close()

    asyncio.run(ask(with_user(double.url), {"SLICE_OS_PASSWORD": SECRET}))
    asyncio.run(ask(f"{double.url}/calls", {"SLICE_OS_TOKEN": TOKEN}))
    sent = [headers["authorization"] for headers in double.headers]
    assert sent == [basic("me", SECRET), f"Bearer {TOKEN}"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_secret_follows_a_redirect(double: Double, status: int) -> None:
    pytest.importorskip("aiohttp")
    double.answer = lambda request: (status, b"")
    connections = [
        parse_location(with_user(double.url), {"SLICE_OS_PASSWORD": SECRET}),
        parse_location(f"{double.url}/calls", {"SLICE_OS_TOKEN": TOKEN}),
    ]

    async def ask(connection: Connection) -> None:
        client = connection.async_client()
        try:
            await client.search(index="calls", body={})
        finally:
            await client.close()

    with serving(Double()) as other:
        double.location = f"{other.url}/calls/_search"
        for connection in connections:
            with suppress(OpenSearchException), connection.client() as client:
                client.search(index="calls", body={})
            with suppress(OpenSearchException):
                asyncio.run(ask(connection))
    assert len(double.headers) == 4
    assert not any("authorization" in headers for headers in other.headers)


@pytest.mark.parametrize(
    ("location", "environ", "warned"),
    [
        ("http://me@search.example.org/calls", {"SLICE_OS_PASSWORD": SECRET}, True),
        ("http://10.1.2.3:9200/calls", {"SLICE_OS_TOKEN": TOKEN}, True),
        ("https://me@search.example.org/calls", {"SLICE_OS_PASSWORD": SECRET}, False),
        ("http://search.example.org/calls", {"SLICE_OS_PASSWORD": SECRET}, False),
        ("http://me@search.example.org/calls", {}, False),
        ("http://me@localhost:9200/calls", {"SLICE_OS_PASSWORD": SECRET}, False),
        ("http://me@[::1]:9200/calls", {"SLICE_OS_PASSWORD": SECRET}, False),
        ("http://me@127.8.8.8/calls", {"SLICE_OS_PASSWORD": SECRET}, False),
    ],
)
def test_a_secret_over_plain_http_to_another_machine_is_told_once(
    caplog: pytest.LogCaptureFixture, location: str, environ: dict[str, str], warned: bool
) -> None:
    _warn_of_plain_http.cache_clear()
    for _ in range(2):
        parse_location(location, environ)
    assert [record.getMessage().count("use https://") for record in caplog.records] == [1] * warned
    assert SECRET not in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("service", ["es", "aoss"])
def test_aws_signature(double: Double, monkeypatch: pytest.MonkeyPatch, service: str) -> None:
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("SLICE_OS_AWS_REGION", "eu-central-1")
    monkeypatch.setenv("SLICE_OS_AWS_SERVICE", service)
    assert not store_exists(f"{double.url}/calls")
    sent = double.headers[0]
    assert sent["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert f"/eu-central-1/{service}/aws4_request" in sent["authorization"]
    assert "x-amz-date" in sent
    assert SECRET not in str(sent)


def test_aws_without_credentials(
    double: Double, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("boto3")
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("SLICE_OS_AWS_REGION", "eu-central-1")
    with pytest.raises(StoreError, match="there are no AWS credentials; set AWS_ACCESS_KEY_ID"):
        store_exists(f"{double.url}/calls")
    assert not double.headers


@dataclass(frozen=True)
class Certificates:
    """Files of a certificate authority, and of a client certificate that it signed."""

    authority: str
    client: str
    key: str
    server: ssl.SSLContext


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    client = authority.issue_cert("client@example.org")
    files = [str(tmp_path / name) for name in ("ca.pem", "client.pem", "key.pem")]
    authority.cert_pem.write_to_path(files[0])
    client.cert_chain_pems[0].write_to_path(files[1])
    client.private_key_pem.write_to_path(files[2])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    return Certificates(*files, server=context)


def test_tls_with_a_private_authority(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLICE_OS_PASSWORD", SECRET)
    with serving(Double(), certificates.server) as double:
        with pytest.raises(StoreError, match=r"TLS failed .*check SLICE_OS_CA_CERTS") as caught:
            store_exists(with_user(double.url))
        assert SECRET not in str(caught.value)
        assert not double.headers
        monkeypatch.setenv("SLICE_OS_CA_CERTS", certificates.authority)
        assert not store_exists(with_user(double.url))
        assert double.headers[0]["authorization"] == basic("me", SECRET)


def test_tls_with_a_client_certificate(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates.server.verify_mode = ssl.CERT_REQUIRED
    monkeypatch.setenv("SLICE_OS_CA_CERTS", certificates.authority)
    with serving(Double(), certificates.server) as double:
        with pytest.raises(StoreError, match=r"SLICE_OS_CLIENT_CERT|no answer") as caught:
            store_exists(f"{double.url}/calls")
        assert "\n" not in str(caught.value)
        monkeypatch.setenv("SLICE_OS_CLIENT_CERT", certificates.client)
        monkeypatch.setenv("SLICE_OS_CLIENT_KEY", certificates.key)
        assert not store_exists(f"{double.url}/calls")
        assert ("email", "client@example.org") in double.peers[0]["subjectAltName"]


def test_an_expired_certificate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SLICE_OS_CA_CERTS", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SLICE_OS_PASSWORD", SECRET)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    expired = datetime(2020, 1, 1, tzinfo=timezone.utc)
    authority.issue_cert("127.0.0.1", not_after=expired).configure_cert(context)
    with serving(Double(), context) as double:
        with pytest.raises(StoreError, match=r"TLS failed \(.*certificate has expired") as caught:
            store_exists(with_user(double.url))
        assert not double.headers
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["CA_CERTS", "CLIENT_CERT", "CLIENT_KEY"])
def test_missing_certificates(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setenv("SLICE_OS_CA_CERTS", certificates.authority)
    monkeypatch.setenv("SLICE_OS_CLIENT_CERT", certificates.client)
    monkeypatch.setenv("SLICE_OS_CLIENT_KEY", certificates.key)
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for file in (tmp_path / "missing.pem", broken):
        monkeypatch.setenv(f"SLICE_OS_{name}", str(file))
        with pytest.raises(StoreError) as caught:
            store_exists("https://127.0.0.1:9/calls")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403, 500, 502])
@pytest.mark.parametrize("answer", ["echo", "page", "json", "aws"])
def test_no_error_shows_a_secret(
    double: Double,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    status: int,
    answer: str,
) -> None:
    body = {
        "echo": f"you sent {basic('me', SECRET)} {SECRET}".encode(),
        "page": b"<html>\n<h1>Bad\nGateway</h1>\n</html>",
        "json": b'{"error": {"type": "security_exception", "reason": "no\\npermissions"}}',
        "aws": b'{"Message": "User: anonymous is not authorized"}',
    }[answer]
    double.answer = lambda request: (status, body)
    monkeypatch.setenv("SLICE_OS_PASSWORD", SECRET)
    caplog.set_level(logging.DEBUG)
    location = with_user(double.url)
    code, output, errors = call_cli(capsys, "search", "cancel", "--store", location)
    assert (code, output, errors.count("\n")) == (1, "", 1)
    assert errors.startswith(f"slice-os: {double.url}/calls: ")
    assert caplog.records
    if answer == "echo":
        caplog.clear()  # debugging shows what a server answers
    for text in (errors, caplog.text):
        assert SECRET not in text
        assert basic("me", SECRET) not in text
    connection = parse_location(location)
    shown = f"{connection!r} {connection} {connection.client()!r} {connection.location}"
    assert SECRET not in shown
    assert basic("me", SECRET) not in shown


@pytest.mark.parametrize("token", ["two\nlines", "tökèn", "ta\tb"])
def test_tokens_that_no_header_can_carry(token: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(token, encoding="utf-8")
    for environ in ({"SLICE_OS_TOKEN": token}, {"SLICE_OS_TOKEN_FILE": str(file)}):
        with pytest.raises(StoreError, match="has characters that a token cannot have") as caught:
            parse_location("http://host/calls", environ)
        assert token not in str(caught.value)


def test_secret_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"s3ntinel\xff\xfe")
    for file, reason in ((tmp_path / "missing", "No such file"), (binary, "not UTF-8")):
        environ = {"SLICE_OS_PASSWORD_FILE": str(file)}
        with pytest.raises(StoreError, match=f"SLICE_OS_PASSWORD_FILE: .*{reason}") as caught:
            parse_location("http://me@host/calls", environ)
        assert "s3ntinel" not in str(caught.value)


def test_no_secret_is_stored(
    opensearch: OpenSearch,
    opensearch_url: str,
    index_name: str,
    encoder: SpanEncoder,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    secret = "s3ntinel-plain"
    monkeypatch.setenv("SLICE_OS_PASSWORD", secret)
    monkeypatch.chdir(tmp_path)
    lines = tmp_path / "orders.jsonl"
    lines.write_bytes(b'{"id": "a", "text": "Cancel my order."}\nno JSON\n')
    location = opensearch_url.replace("://", "://me@") + f"/{index_name}"
    status, output, errors = call_cli(capsys, "ingest", lines, "--store", location)
    assert status == 1
    info = call_cli(capsys, "store", "info", "--store", location)
    told = [output, errors, *map(str, info)]
    told += [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    state = opensearch.cluster.state(metric="metadata", index=f"{index_name}*")
    told += [orjson.dumps(state).decode(), str(contents(opensearch, index_name))]
    assert "index_templates" not in told[-2] or secret not in told[-2]
    assert not any(secret in text for text in told)
    with Corpus(location, encoder) as corpus:
        with pytest.raises(SliceError) as caught:
            corpus.text("none")
        corpus.add(documents(1))
    assert secret not in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals of this kind")
def test_a_terminal_prompts_for_the_password(double: Double, tmp_path: Path) -> None:
    location = with_user(double.url)
    status, shown = type_into(["store", "info", "--store", location], f"{SECRET}\n", tmp_path)
    assert os.waitstatus_to_exitcode(status) == 1
    assert "Password of me at http://127.0.0.1" in shown
    assert "no index here" in shown
    assert SECRET not in shown
    assert {headers["authorization"] for headers in double.headers} == {basic("me", SECRET)}


def type_into(arguments: list[str], typed: str, folder: Path) -> tuple[int, str]:
    """Run the command line on a pseudo-terminal; returns the wait status and everything shown."""
    import pty

    command = [sys.executable, "-c", "from slice_os.cli import main; main()", *arguments]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execv(command[0], command)
    shown = b""
    with suppress(OSError):  # the terminal's end
        while chunk := os.read(terminal, 4096):
            shown += chunk
            if typed and b"Password" in shown:
                os.write(terminal, typed.encode())
                typed = ""
    os.close(terminal)
    return os.waitpid(process, 0)[1], shown.decode()

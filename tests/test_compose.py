"""compose.yaml and Dockerfile, checked without a container engine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

REPOSITORY = Path(__file__).parents[1]
COMPOSE = REPOSITORY / "compose.yaml"
PLUGIN = REPOSITORY / "plugin"
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text("utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
SERVERS = ["opensearch", "opensearch-secure"]
COMMANDS = ["slice-os", "slice-os-secure"]


def instructions(name: str, dockerfile: str = DOCKERFILE) -> list[str]:
    """The arguments of an instruction, in the order of the Dockerfile."""
    return re.findall(rf"^{name} (.+)$", dockerfile, flags=re.MULTILINE)


@pytest.mark.parametrize("name", SERVERS)
def test_servers_are_pinned_local_and_health_checked(name: str) -> None:
    service = SERVICES[name]
    image, version = service["image"].split(":")
    assert (image, service["build"]) == ("slice-os-opensearch", "plugin")
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert any(volume.endswith(":/usr/share/opensearch/data") for volume in service["volumes"])
    assert "/_cluster/health" in service["healthcheck"]["test"][1]
    assert service["ulimits"]["memlock"] == {"soft": -1, "hard": -1}
    assert "-Xmx" in service["environment"]["OPENSEARCH_JAVA_OPTS"]


def test_the_servers_do_not_share_a_port() -> None:
    ports = [port for name in SERVERS for port in SERVICES[name]["ports"]]
    assert len(ports) == len(set(ports))


@pytest.mark.parametrize("folder", ["plugin", "tests/opensearch"])
def test_plugin_tests_and_compose_use_the_same_opensearch(folder: str) -> None:
    namespace = {"m": "http://maven.apache.org/POM/4.0.0"}
    pom = ElementTree.parse(REPOSITORY / folder / "pom.xml")
    version = pom.findtext("m:properties/m:opensearch.version", namespaces=namespace)
    assert {SERVICES[name]["image"].split(":")[1] for name in SERVERS} == {version}


def test_the_image_of_opensearch_has_the_plugin_of_its_version() -> None:
    dockerfile = (PLUGIN / "Dockerfile").read_text("utf-8")
    (version, *others) = instructions("ARG", dockerfile)
    assert version == "OPENSEARCH=" + SERVICES["opensearch"]["image"].split(":")[1]
    assert set(others) == {"OPENSEARCH"}
    build, server = instructions("FROM", dockerfile)
    assert re.fullmatch(r"maven:\d+\.\d+\.\d+-eclipse-temurin-21 AS build", build)
    assert server == "opensearchproject/opensearch:${OPENSEARCH}"
    assert "opensearch-plugin install --batch" in dockerfile
    assert "/slice-os-span-score-${OPENSEARCH}.0.zip" in dockerfile
    sources = [copy.split()[0].strip("/") for copy in instructions("COPY", dockerfile)]
    ignored = (PLUGIN / ".dockerignore").read_text("utf-8").split()
    assert ignored == ["*", *(f"!{source}" for source in sources)]
    assert all((PLUGIN / source).exists() for source in sources)


def test_up_starts_only_the_open_server() -> None:
    assert [name for name, service in SERVICES.items() if "profiles" not in service] == [
        "opensearch"
    ]


@pytest.mark.parametrize(("command", "server"), list(zip(COMMANDS, SERVERS, strict=True)))
def test_a_command_waits_for_its_server(command: str, server: str) -> None:
    assert SERVICES[command]["depends_on"] == {server: {"condition": "service_healthy"}}
    # `run` enables the command's profiles only, so its server has to be in one of them.
    needed = SERVICES[server].get("profiles")
    assert needed is None or set(SERVICES[command]["profiles"]) <= set(needed)


def test_security_is_on_without_a_password_in_the_file() -> None:
    environment = SERVICES["opensearch-secure"]["environment"]
    assert not {name for name in environment if name.startswith("DISABLE_SECURITY")}
    assert environment["OPENSEARCH_INITIAL_ADMIN_PASSWORD"] is None
    # `${NAME:?}` in one profile stops every other profile too.
    assert ":?" not in re.sub(r"#.*", "", COMPOSE.read_text("utf-8"))


def test_the_image_is_pinned_not_root_and_without_torch() -> None:
    assert re.fullmatch(r"PYTHON=3\.12\.\d+-slim-\w+", *instructions("ARG"))
    assert len(instructions("FROM")) == 2
    last_stage = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    assert int(re.search(r"^USER (\d+)", last_stage, flags=re.MULTILINE)[1]) > 0  # type: ignore[index]
    assert instructions("ENTRYPOINT") == ['["slice-os"]']
    assert "torch" not in DOCKERFILE


def test_dockerignore_lets_through_what_the_image_copies() -> None:
    sent = {
        line.removeprefix("!").strip("/")
        for line in (REPOSITORY / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    }
    copied = {
        source.strip("/")
        for copy in instructions("COPY")
        for source in copy.split()[:-1]
        if not source.startswith("--")
    }
    assert copied == sent


def test_compose_itself_accepts_the_file() -> None:
    docker = shutil.which("docker")
    version = [docker or "", "compose", "version"]
    if docker is None or subprocess.run(version, capture_output=True).returncode:
        pytest.skip("docker compose is not installed")
    answer = subprocess.run(
        [docker, "compose", "--file", COMPOSE, "config", "--quiet"], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr

"""compose.yaml and Dockerfile, checked without a container engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.elasticsearch.runtime import VERSION

from .command_line import printed

REPOSITORY = Path(__file__).parents[1]
COMPOSE = REPOSITORY / "compose.yaml"
PLUGIN = REPOSITORY / "plugin"
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text("utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
SERVERS = ["opensearch", "opensearch-secure"]
COMMANDS = ["slice-os", "slice-os-secure"]
PAGES = ["service", "service-secure", "service-elasticsearch"]
DIGEST = "(?:@sha256:[0-9a-f]{64})?"


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


def test_the_image_of_elasticsearch_is_the_version_of_the_tests() -> None:
    service = SERVICES["elasticsearch"]
    image, version = service["image"].rsplit(":", 1)
    assert (image, version) == ("docker.elastic.co/elasticsearch/elasticsearch", VERSION)
    assert service["ports"] == ["127.0.0.1:9202:9200"]


def test_the_servers_do_not_share_a_port() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
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
    assert re.fullmatch(rf"maven:\d+\.\d+\.\d+-eclipse-temurin-21{DIGEST} AS build", build)
    assert re.fullmatch(rf"opensearchproject/opensearch:\$\{{OPENSEARCH\}}{DIGEST}", server)
    assert "opensearch-plugin install --batch" in dockerfile
    assert "/slice-os-span-score-${OPENSEARCH}.0.zip" in dockerfile
    sources = [copy.split()[0].strip("/") for copy in instructions("COPY", dockerfile)]
    ignored = (PLUGIN / ".dockerignore").read_text("utf-8").split()
    assert ignored == ["*", *(f"!{source}" for source in sources)]
    assert all((PLUGIN / source).exists() for source in sources)


def test_up_starts_opensearch_and_the_page() -> None:
    started = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert started == {"opensearch", "service"}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_published_to_this_machine_and_health_checked(name: str) -> None:
    service = SERVICES[name]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    (program,) = service["command"]
    loads, serves = program.split(" && exec ")
    assert loads.startswith("slice-os ingest /demo")
    assert serves.startswith("slice-os serve ")
    assert loads.split("--store ")[1] == serves.split()[2]
    assert {"/work", "/demo"} == {
        volume["target"] if isinstance(volume, dict) else volume.split(":")[1]
        for volume in service["volumes"]
    }
    assert "/ready" in service["healthcheck"]["test"][-1]
    assert ("--keys" in serves) is (name == "service-secure")
    # Without keys it has to know the address, or it answers nobody but itself.
    assert ("--reached-at http://127.0.0.1:" in serves) is (name != "service-secure")


@pytest.mark.parametrize(
    ("command", "server"),
    [*zip(COMMANDS, SERVERS, strict=True), *zip(PAGES, [*SERVERS, "elasticsearch"], strict=True)],
)
def test_a_command_waits_for_its_server(command: str, server: str) -> None:
    assert SERVICES[command]["depends_on"] == {server: {"condition": "service_healthy"}}
    # `run` enables the command's profiles only, so its server has to be in one of them.
    needed = SERVICES[server].get("profiles")
    assert needed is None or set(SERVICES[command]["profiles"]) <= set(needed)


@pytest.mark.slow
@pytest.mark.release
def test_the_loader_of_compose_accepts_every_profile(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("no Go (go) on the PATH")
    loader = tmp_path / "loader"
    built = subprocess.run(
        [go, "build", "-o", loader, "."],
        cwd=REPOSITORY / "tests" / "compose",
        capture_output=True,
        text=True,
    )
    if re.search(r"dial tcp|i/o timeout|no such host|connection refused", built.stderr):
        pytest.skip("Go could not fetch the loader of Compose: check the network")
    assert built.returncode == 0, built.stderr
    for profiles, expected in (
        ("", "opensearch service"),
        ("secure", "opensearch opensearch-secure service service-secure"),
        ("elasticsearch", "elasticsearch opensearch service service-elasticsearch"),
        ("cli", "opensearch service slice-os"),
        ("cli-secure", "opensearch opensearch-secure service slice-os-secure"),
    ):
        command = [loader, COMPOSE, *profiles.split()]
        started = printed(command, env=os.environ | {"SLICE_OS_PORT": "8123"})
        assert started.split() == expected.split()


def test_security_is_on_without_a_password_in_the_file() -> None:
    environment = SERVICES["opensearch-secure"]["environment"]
    assert not {name for name in environment if name.startswith("DISABLE_SECURITY")}
    assert environment["OPENSEARCH_INITIAL_ADMIN_PASSWORD"] is None
    # `${NAME:?}` in one profile stops every other profile too.
    assert ":?" not in re.sub(r"#.*", "", COMPOSE.read_text("utf-8"))


def test_the_image_is_pinned_not_root_and_without_torch() -> None:
    image, *stages = instructions("FROM")
    assert re.fullmatch(rf"python:3\.12\.\d+-slim-\w+{DIGEST} AS base", image)
    assert stages == ["base AS build", "base"]
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
        if not copy.startswith("--from=")
    }
    assert copied == sent


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.timeout(1_800)  # it downloads what the image has
def test_the_steps_of_the_image_install_the_service(tmp_path: Path) -> None:
    """Its step with pip and uv, in fresh environments, on the files that the image gets."""
    source, image, environment = tmp_path / "src", tmp_path / "image", tmp_path / "opt"
    source.mkdir()
    for copy in instructions("COPY"):
        *names, target = copy.split()
        for name in names if not copy.startswith("--from") else ():
            path, to = REPOSITORY / name, source / (target if target != "./" else name)
            if path.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "target")
                shutil.copytree(path, to, symlinks=True, ignore=ignored)
            else:
                shutil.copy(path, to)
    install, _ = instructions("RUN", DOCKERFILE.replace("\\\n", ""))
    subprocess.run([sys.executable, "-m", "venv", image], check=True)
    done = subprocess.run(
        install.replace("/opt/slice-os", str(environment)).replace("--no-cache ", ""),
        env={**os.environ, "PATH": f"{image}/bin:{os.environ['PATH']}"},
        shell=True,
        cwd=source,
        capture_output=True,
        text=True,
    )
    if re.search(r"Failed to establish|onnection|Temporary failure|dns error", done.stderr):
        pytest.skip("pip could not fetch what the image needs: check the network")
    assert done.returncode == 0, done.stderr
    program = environment / "bin" / "slice-os"
    for command in (["--help"], ["serve", "--help"], ["ingest", "--help"]):
        printed([program, *command], cwd=tmp_path)
    checks = (
        "from slice_os.service.demo import DEMO_PATHS; from slice_os.service.app import WEB; "
        "import slice_os.service.app, xlsxwriter, pypdfium2, opentelemetry.sdk; "
        "assert (WEB / 'index.html').is_file(); assert all(path.exists() for path in DEMO_PATHS)"
    )
    printed([environment / "bin" / "python", "-c", checks], cwd=tmp_path)


def test_compose_itself_accepts_the_file() -> None:
    docker = shutil.which("docker")
    version = [docker or "", "compose", "version"]
    if docker is None or subprocess.run(version, capture_output=True).returncode:
        pytest.skip("docker compose is not installed")
    printed([docker, "compose", "--file", COMPOSE, "config", "--quiet"])

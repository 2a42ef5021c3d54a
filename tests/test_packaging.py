"""The archives, their metadata, and a base install of the wheel."""

from __future__ import annotations

import email
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.message import Message
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from filelock import FileLock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .command_line import printed
from .conftest import Shared

REPOSITORY = Path(__file__).parents[1]
MEGABYTE = 1_000_000
FOLDERS = ["demo", "export", "ingest", "mappings"]


def run_build(source: Path, out: Path, target: str) -> subprocess.CompletedProcess[str]:
    """Build as `make build` does; this needs no network."""
    if find_spec("hatchling") is None:
        pytest.skip("needs hatchling, one of the dev dependencies")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    return subprocess.run(command, cwd=source, capture_output=True, text=True)


def build(source: Path, out: Path, target: str) -> Path:
    """Build an archive and return its path."""
    done = run_build(source, out, target)
    assert done.returncode == 0, done.stderr
    (archive,) = out.iterdir()
    return archive


@pytest.fixture(scope="session")
def wheel(shared: Shared) -> Path:
    """Built once, for all workers."""
    (archive,) = shared("wheel", lambda out: build(REPOSITORY, out, "wheel")).iterdir()
    return archive


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_the_wheel_has_the_whole_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    shipped = {name: size for name, size in sizes.items() if ".dist-info/" not in name}
    # The linked folders are part of slice_os in the wheel.
    places = {"slice_os": "slice_os", **{name: f"slice_os/{name}" for name in FOLDERS}}
    assert shipped == {
        f"{place}/{path.relative_to(REPOSITORY / folder).as_posix()}": path.stat().st_size
        for folder, place in places.items()
        for path in (REPOSITORY / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "slice_os/py.typed" in shipped


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= 60 * MEGABYTE


@pytest.mark.slow
@pytest.mark.release
def test_the_source_archive_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(REPOSITORY, tmp_path / "sdist", "sdist")) as archive:
        assert all(entry.isreg() or entry.isdir() for entry in archive)
        archive.extractall(tmp_path / "source")
    (source,) = (tmp_path / "source").iterdir()
    again = build(source, tmp_path / "wheel", "wheel")
    assert again.read_bytes() == wheel.read_bytes()


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.timeout(1_200)
def test_a_release_has_checksums_and_a_bill_of_materials(tmp_path: Path) -> None:
    """The script itself builds twice, and ends with an error if the archives differ."""
    if find_spec("cyclonedx_py") is None:
        pytest.skip("needs cyclonedx-bom: `make test-all` installs it")
    clone = ["git", "clone", "--quiet", REPOSITORY, tmp_path / "clone"]
    subprocess.run(clone, check=True)
    done = subprocess.run(
        [sys.executable, "scripts/release.py"],
        cwd=tmp_path / "clone",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "clone" / "dist"
    sums = dict(line.split()[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert len(sums) == 3
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        (name,) = (name for name in archive.namelist() if "/sboms/" in name)
        bill = json.loads(archive.read(name))
    names = {component["name"] for component in bill["components"]}
    assert {"numpy", "onnxruntime", "tokenizers", "slice-mini", "slice-verify"} <= names
    assert not names & {"torch", "pytest"}
    assert bill["metadata"]["component"]["name"] == "slice-os"


REPAIR = (
    "git config core.symlinks true && "
    "git checkout -- slice_os/demo slice_os/export slice_os/ingest slice_os/mappings"
)


def import_in(checkout: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import slice_os; slice_os.Corpus"],
        cwd=checkout,
        capture_output=True,
        text=True,
    )


def test_a_checkout_without_links_is_not_built_or_imported_until_repaired(tmp_path: Path) -> None:
    """A clone as git makes it where it may not create symbolic links."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("needs the repository, not a source archive")
    checkout = tmp_path / "checkout"
    clone = ["git", "clone", "--quiet", "--config", "core.symlinks=false", REPOSITORY, checkout]
    subprocess.run(clone, check=True)
    assert all((checkout / "slice_os" / name).is_file() for name in FOLDERS)
    for target in ("wheel", "sdist"):
        refused = run_build(checkout, tmp_path / "out", target)
        assert refused.returncode == 1
        assert refused.stderr.count("\n") == 1
        assert "demo, export, ingest, mappings in" in refused.stderr
        assert REPAIR in refused.stderr
        assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
    refused = import_in(checkout)
    assert refused.returncode == 1
    line = refused.stderr.splitlines()[-1]
    assert line.startswith(
        "ImportError: slice_os cannot be imported: demo, export, ingest, mappings in"
    )
    assert REPAIR in line
    subprocess.run(REPAIR, shell=True, cwd=checkout, check=True, capture_output=True)
    assert import_in(checkout).returncode == 0


def test_license_and_notices_are_shipped(metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]


def test_every_extra_named_in_an_error_exists(metadata: Message) -> None:
    asked = {
        extra
        for folder in ["slice_os", *FOLDERS]
        for path in (REPOSITORY / folder).rglob("*.py")
        for extra in re.findall(
            r"slice-os\[(\w+)\]|(?:MissingExtraError|imported)\([^)]*?\"(\w+)\"\)",
            path.read_text("utf-8"),
        )
        for extra in extra
        if extra
    }
    assert asked
    assert asked <= set(metadata.get_all("Provides-Extra", []))


def test_the_base_install_brings_no_torch(metadata: Message) -> None:
    base = {
        canonicalize_name(requirement.name)
        for requirement in map(Requirement, metadata.get_all("Requires-Dist", []))
        if requirement.marker is None or "extra" not in str(requirement.marker)
    }
    assert "onnxruntime" in base
    assert not base & {"torch", "transformers", "optimum-onnx"}


def test_the_pins_are_within_the_ranges(metadata: Message) -> None:
    pins: dict[str, list[Requirement]] = {}
    for line in (REPOSITORY / "requirements.lock").read_text("utf-8").splitlines():
        if not line.startswith(("#", "    --hash=sha256:")):
            pin = Requirement(line.removesuffix("\\"))
            assert [part.operator for part in pin.specifier] == ["=="], line
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    for requirement in map(Requirement, metadata.get_all("Requires-Dist", [])):
        found = pins[canonicalize_name(requirement.name)]
        for pin in found:
            (version,) = pin.specifier
            assert requirement.specifier.contains(version.version), f"{pin} is not {requirement}"


def test_a_release_lacks_no_hash_and_no_license() -> None:
    """Every pin has hashes; NOTICE and the models' cards name what recipes train on."""
    supply = runpy.run_path(str(REPOSITORY / "scripts" / "supply.py"))
    trained = set(supply["trained_on"]())
    assert {
        ("slice-mini", "squad"),
        ("slice-verify", "tatoeba"),
        ("slice-verify", "wiki-split"),
    } <= {(model, name) for model, name, _ in trained}
    # Digests are written where a registry can be asked.
    assert [fault for fault in supply["faults"]() if "Dockerfile: " not in fault] == []


def test_a_release_is_refused_without_hashes_digests_and_licenses(tmp_path: Path) -> None:
    for name in ("requirements.lock", "NOTICE", "Dockerfile", "plugin/Dockerfile"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        text = (REPOSITORY / name).read_text("utf-8")
        text = re.sub(r"(numpy==\S+)(?:.*\\\n)*.*", r"\1", text)
        text = re.sub("    - tatoeba:", "    - sentences:", text)
        text = re.sub(r"^(FROM maven:[^\s@]+)(@\S+)?", r"\1", text, flags=re.MULTILINE)
        (tmp_path / name).write_text(text, "utf-8")
    for name in ("recipes", "slice_os"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    (tmp_path / "scripts").mkdir()
    shutil.copy(REPOSITORY / "scripts" / "supply.py", tmp_path / "scripts")
    command = [sys.executable, "scripts/supply.py", "check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"^requirements.lock: numpy \S+ has no hash", done.stderr, re.MULTILINE)
    assert re.search(r"^plugin/Dockerfile: maven:\S+ has no digest", done.stderr, re.MULTILINE)
    assert re.search(r"^NOTICE: tatoeba, on which slice-verify was", done.stderr, re.MULTILINE)
    assert re.search(r"scripts/supply.py check\n", (REPOSITORY / "Makefile").read_text("utf-8"))


@pytest.fixture(scope="module")
def environment(wheel: Path, shared_folder: Path) -> Path:
    """A fresh environment with only the wheel, made once for all workers."""
    folder, installed = shared_folder / "base-install", shared_folder / "base-install.done"
    with FileLock(shared_folder / "base-install.lock"):
        if not installed.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            uv = [sys.executable, "-m", "uv", "pip", "install", "--python", folder / "bin/python"]
            install = [*uv, "--constraint", REPOSITORY / "requirements.lock", wheel]
            done = subprocess.run(install, capture_output=True, text=True)
            if done.returncode:
                reason = done.stderr.strip().splitlines()[-1]
                if os.environ.get("CI") == "true":
                    pytest.fail(f"uv could not install the wheel: {reason}", pytrace=False)
                pytest.skip(f"uv could not install the wheel, is there a network? {reason}")
            installed.touch()
    return folder


def site_packages(environment: Path) -> Path:
    variables = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", "venv", variables))


@pytest.mark.slow
@pytest.mark.release
def test_the_base_install_is_small_and_adds_one_name(environment: Path) -> None:
    folder = site_packages(environment)
    names = {path.name for path in folder.iterdir()}
    assert "slice_os" in names
    assert not names & {"torch", "tests", "docs", *FOLDERS}
    # What every environment begins with is not ours.
    ours = [path for path in folder.iterdir() if path.name not in ("pip", "setuptools")]
    files = [path for top in ours for path in (top, *top.rglob("*")) if path.is_file()]
    size = sum(path.lstat().st_size for path in files)
    assert size <= 345 * MEGABYTE, f"{size / MEGABYTE:.0f} MB"


@pytest.mark.slow
@pytest.mark.release
def test_the_installed_wheel_searches(environment: Path, tmp_path: Path) -> None:
    binaries = environment / "bin"

    def run(*command: str | Path) -> str:
        # Hide the checkout and any outer settings.
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        return printed(command, cwd=tmp_path, env=clean)

    names = ["slice_os", *(f"slice_os.{name}" for name in FOLDERS)]
    files = run(binaries / "python", "-c", f"import {', '.join(names)}; print(slice_os.__file__)")
    assert Path(files.strip()).is_relative_to(site_packages(environment))
    assert run(binaries / "slice-os", "--help").startswith("  Find every passage")

    text = "The weather is fine. Either party may end this agreement at any time.\n"
    (tmp_path / "contract.txt").write_text(text, "utf-8")
    run(binaries / "slice-os", "ingest", "contract.txt", "--store", "mine.slice")
    phrase = "each side can terminate the contract whenever it wants"
    (line,) = run(
        binaries / "slice-os", "search", phrase, "--store", "mine.slice", "--json"
    ).splitlines()
    hit = json.loads(line)
    assert text[hit["start"] : hit["end"]] == hit["text"]
    assert "agreement" in hit["text"]


def test_onnxruntime_reports_nothing(tmp_path: Path) -> None:
    """Where it reports its use, it keeps an identifier and a queue in the user's cache."""
    code = "from slice_os import SpanEncoder; SpanEncoder(threads=1).encode('hello')"
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    subprocess.run([sys.executable, "-c", code], check=True, env={**kept, "HOME": str(tmp_path)})
    assert not list(tmp_path.rglob("*onnxruntime*"))


def test_large_files_are_named_with_a_reason() -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no checkout of git")
    command = ["git", "ls-files", "-z"]
    listed = printed(command, cwd=REPOSITORY).split("\0")
    files = [REPOSITORY / name for name in filter(None, listed)]
    large = {
        path.relative_to(REPOSITORY).as_posix()
        for path in files
        if path.is_file() and not path.is_symlink() and path.stat().st_size > MEGABYTE
    }
    lines = (REPOSITORY / ".gitattributes").read_text("utf-8").splitlines()
    reasons = {
        line.split()[0]: before for before, line in pairwise(lines) if not line.startswith("#")
    }
    assert large == reasons.keys(), "keep files above 1 MB out, or give a reason in .gitattributes"
    assert all(reason.startswith("# ") for reason in reasons.values())

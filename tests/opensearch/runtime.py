"""What a real node runs on: a JDK of this machine and OpenSearch's jars from Maven Central."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

VERSION = os.environ.get("OPENSEARCH_VERSION", "3.5.0")
MINIMUM_JAVA = 21
POM = Path(__file__).with_name("pom.xml")
LAUNCHER = Path(__file__).with_name("StartNode.java")

_JVM_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
_OTHERWISE = "or set OPENSEARCH_URL to a running node with the k-NN plugin"


class RuntimeMissingError(Exception):
    """Something that a node needs is missing here; one line says what to install or set."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What starts a node: ``java -cp CLASS_PATH StartNode HOME``.

    Attributes:
        java: the ``java`` command of a JDK that is new enough.
        class_path: the launcher's classes and every jar.
    """

    java: Path
    class_path: str


def find_runtime(report: Callable[[str], None]) -> Runtime:
    """The JDK and the jars, which the first call fetches into the user's cache.

    Args:
        report: told about the download, one line at a time.

    Raises:
        RuntimeMissingError: if there is no JDK, no Maven, or Maven cannot fetch the jars.
    """
    home = find_jdk()
    key = hashlib.sha256(POM.read_bytes() + LAUNCHER.read_bytes()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = cache / "slice-os" / f"opensearch-{VERSION}" / key
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            _fetch_jars(partial, home, report)
            _compile_launcher(partial, home)
            partial.rename(folder)
    return Runtime(java=home / "bin" / "java", class_path=_class_path(folder))


def find_jdk() -> Path:
    """The home folder of the first JDK that is new enough: JAVA_HOME, PATH, then the usual folders.

    Raises:
        RuntimeMissingError: if there is none.
    """
    for home in _jdk_homes():
        if _java_version(home) >= MINIMUM_JAVA:
            return home
    raise RuntimeMissingError(
        f"no JDK {MINIMUM_JAVA} or newer found: install one (such as openjdk-21-jdk-headless), "
        f"set JAVA_HOME to it, {_OTHERWISE}"
    )


def _jdk_homes() -> Iterator[Path]:
    if java_home := os.environ.get("JAVA_HOME"):
        yield Path(java_home)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    for pattern in _JVM_FOLDERS:
        path = Path(pattern).expanduser()
        yield from sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))


def _java_version(home: Path) -> int:
    """The feature release of a JDK, 0 for anything else; ``javac`` tells a JDK from a JRE."""
    try:
        answer = subprocess.run(
            [home / "bin" / "javac", "--version"], capture_output=True, text=True, timeout=60
        )
    except OSError:
        return 0
    found = re.search(r"javac (\d+)", answer.stdout)
    return int(found[1]) if found else 0


def _fetch_jars(folder: Path, jdk: Path, report: Callable[[str], None]) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeMissingError(f"Maven (mvn) is not on the PATH: install it, {_OTHERWISE}")
    report(f"OpenSearch {VERSION}: fetching its jars with Maven into {folder.parent} (once)")
    shutil.copy(POM, folder)
    command = [maven, "--batch-mode", f"-Dopensearch.version={VERSION}"]
    command += ["-f", str(folder / POM.name), "process-resources"]
    jars = 0
    errors = []
    with subprocess.Popen(
        command,
        env={**os.environ, "JAVA_HOME": str(jdk)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if "[ERROR]" in line:
                    errors.append(line.split("[ERROR]", 1)[1].strip())
                if "Downloaded from" in line and re.search(r"\.(jar|zip) ", line):
                    jars += 1
                    if jars % 25 == 0:
                        report(f"OpenSearch {VERSION}: {jars} jars fetched")
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        reason = errors[0] if errors else f"exit status {process.returncode}"
        raise RuntimeMissingError(
            f"Maven could not fetch OpenSearch's jars ({reason}): check the network, {_OTHERWISE}"
        )
    report(f"OpenSearch {VERSION}: jars complete")


def _class_path(folder: Path) -> str:
    return os.pathsep.join([str(folder / "classes"), str(folder / "target" / "lib" / "*")])


def _compile_launcher(folder: Path, jdk: Path) -> None:
    javac, classes = str(jdk / "bin" / "javac"), str(folder / "classes")
    command = [javac, "--release", str(MINIMUM_JAVA), "-d", classes, "-cp", _class_path(folder)]
    subprocess.run([*command, LAUNCHER], check=True)

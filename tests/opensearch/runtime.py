"""What a real node runs on: a JDK, OpenSearch's jars from Maven Central, and our plugin."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

VERSION = os.environ.get("OPENSEARCH_VERSION", "3.5.0")
MINIMUM_JAVA = 21
PLUGIN = Path(__file__).parents[2] / "plugin"
POM = Path(__file__).with_name("pom.xml")
LAUNCHER = Path(__file__).with_name("StartNode.java")

_JVM_FOLDERS = (
    *("/usr/lib/jvm/*", "/usr/java/*", "/opt/java/*", "/opt/jdk*"),
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    *("~/.sdkman/candidates/java/*", "~/.jdks/*"),
)
_OTHERWISE = "or set OPENSEARCH_URL to a running node with the k-NN plugin"


class RuntimeMissingError(Exception):
    """Something that a node needs is missing here; one line says what to install or set."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What starts a node: ``java -cp CLASS_PATH StartNode HOME``.

    Attributes:
        java: the ``java`` command of a JDK that is new enough.
        class_path: every jar, that of the launcher among them.
        archive: where the first node leaves its classes, so that the next ones start in half the
            time (class data sharing of the JDK).
    """

    java: Path
    class_path: str
    archive: Path


def find_runtime(report: Callable[[str], None]) -> Runtime:
    """The JDK and the jars, which the first call fetches into the user's cache.

    Args:
        report: told about the download, one line at a time.

    Raises:
        RuntimeMissingError: if there is no JDK, no Maven, or Maven cannot fetch the jars.
    """
    home = find_jdk()

    def make(folder: Path) -> None:
        _fetch_jars(folder, home, report)
        _compile_launcher(folder, home)

    folder = cached_folder([POM, LAUNCHER, Path(__file__)], make)
    return Runtime(home / "bin" / "java", _class_path(folder), folder / "node.jsa")


def find_plugin(
    report: Callable[[str], None], engine: str = "opensearch", version: str = VERSION
) -> Path:
    """The zip of our own plugin for a version, built again if its sources have changed.

    Args:
        report: told about the build.
        engine: as Maven's property calls its version.
        version: of the engine.

    Raises:
        RuntimeMissingError: if there is no JDK, no Maven, or the build or its tests fail.
    """
    home = find_jdk()
    pom, sources = PLUGIN / "pom.xml", PLUGIN / "src"

    def make(folder: Path) -> None:
        report(f"{engine} {version}: building and testing our plugin with Maven (once)")
        shutil.copy(pom, folder)
        shutil.copytree(sources, folder / "src")
        failure = "build the plugin", "`make plugin` shows all that it says"
        chosen = f"-D{engine}.version={version}"
        deque(run_maven(folder / "pom.xml", "package", home, failure, chosen), maxlen=0)

    files = [pom, *filter(Path.is_file, sources.rglob("*"))]
    folder = cached_folder(files, make, f"{engine}-{version}")
    (found,) = (folder / "target" / "releases").glob("*.zip")
    return found


def cached_folder(
    sources: Sequence[Path], make: Callable[[Path], None], name: str = f"opensearch-{VERSION}"
) -> Path:
    """The folder in the user's cache that is made of these files, once for each content."""
    contents = hashlib.sha256()
    for path in sorted(sources):
        contents.update(path.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = cache / "slice-os" / name / contents.hexdigest()[:12]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            make(partial)
            partial.rename(folder)
    return folder


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
    report(f"OpenSearch {VERSION}: fetching its jars with Maven into {folder.parent} (once)")
    shutil.copy(POM, folder)
    jars = 0
    failure = "fetch OpenSearch's jars", f"check the network, {_OTHERWISE}"
    for line in run_maven(folder / POM.name, "process-resources", jdk, failure):
        if "Downloaded from" in line and re.search(r"\.(jar|zip) ", line):
            jars += 1
            if jars % 25 == 0:
                report(f"OpenSearch {VERSION}: {jars} jars fetched")
    report(f"OpenSearch {VERSION}: jars complete")


def run_maven(
    pom: Path,
    phase: str,
    jdk: Path,
    failure: tuple[str, str],
    version: str = f"-Dopensearch.version={VERSION}",
) -> Iterator[str]:
    """Run Maven up to a phase; yields its output. A failure is what failed, and a remedy."""
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeMissingError(f"Maven (mvn) is not on the PATH: install it, {_OTHERWISE}")
    errors = []
    with subprocess.Popen(
        [maven, "--batch-mode", "-f", str(pom), version, phase],
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
                yield line
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        reason = next(filter(None, errors), f"exit status {process.returncode}")
        raise RuntimeMissingError(f"Maven could not {failure[0]} ({reason}): {failure[1]}")


def _class_path(folder: Path) -> str:
    return str(folder / "target" / "lib" / "*")


def _compile_launcher(folder: Path, jdk: Path) -> None:
    """As a jar: class data sharing takes no folders of classes."""
    classes, jar = folder / "classes", folder / "target" / "lib" / "start-node.jar"
    command = [jdk / "bin" / "javac", "--release", str(MINIMUM_JAVA), "-d", classes]
    subprocess.run([*command, "-cp", _class_path(folder), LAUNCHER], check=True)
    subprocess.run([jdk / "bin" / "jar", "-c", "-f", jar, "-C", classes, "."], check=True)

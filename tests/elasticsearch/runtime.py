"""What an Elasticsearch node runs on: a JDK, and its jars from Maven Central."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections import deque
from collections.abc import Callable
from pathlib import Path

from tests.opensearch.runtime import (
    MINIMUM_JAVA,
    Runtime,
    cached_folder,
    find_jdk,
    find_plugin,
    run_maven,
)

VERSION = os.environ.get("ELASTICSEARCH_VERSION", "9.5.3")
POM = Path(__file__).with_name("pom.xml")
LAUNCHER = Path(__file__).with_name("StartNode.java")
MISSING = Path(__file__).with_name("Missing.java")

_NETTY = "transport-netty4"
# What a plugin's handlers are made of in Elasticsearch 8.
_SERVICES = "RestHandlersServices services"
_SERVICES_OF_8 = """
    org.elasticsearch.common.settings.Settings settings,
    org.elasticsearch.common.io.stream.NamedWriteableRegistry registry,
    org.elasticsearch.rest.RestController controller,
    org.elasticsearch.common.settings.ClusterSettings ofCluster,
    org.elasticsearch.common.settings.IndexScopedSettings ofIndex,
    org.elasticsearch.common.settings.SettingsFilter filter,
    org.elasticsearch.cluster.metadata.IndexNameExpressionResolver names
"""
# A module named there, or a place to deploy to, makes these jars look for the distribution's.
_NOT_HERE = re.compile("^(modulename|deployment.target)=.*$", re.MULTILINE)


def find_elasticsearch(report: Callable[[str], None], version: str = VERSION) -> Runtime:
    """The JDK and the jars, which the first call fetches into the user's cache.

    Args:
        report: told about the download, one line at a time.
        version: of Elasticsearch.

    Raises:
        RuntimeMissingError: if there is no JDK, no Maven, or Maven cannot fetch the jars.
    """
    home = find_jdk()

    def make(folder: Path) -> None:
        report(f"Elasticsearch {version}: fetching its jars with Maven into {folder.parent} (once)")
        shutil.copy(POM, folder)
        failure = "fetch Elasticsearch's jars", "check the network, or set ELASTICSEARCH_URL"
        chosen = f"-Delasticsearch.version={version}"
        deque(run_maven(folder / POM.name, "process-resources", home, failure, chosen), maxlen=0)
        _arrange(folder, home, version)

    sources = [POM, LAUNCHER, MISSING, Path(__file__)]
    folder = cached_folder(sources, make, f"elasticsearch-{version}")
    return Runtime(home / "bin" / "java", str(folder / "target" / "lib" / "*"), folder / "node.jsa")


def find_elasticsearch_plugin(report: Callable[[str], None], version: str = VERSION) -> Path:
    """The zip of our own plugin; see `find_plugin`."""
    return find_plugin(report, "elasticsearch", version)


def _arrange(folder: Path, jdk: Path, version: str) -> None:
    """The network as a module, what is missing as a plugin, and the rest as the class path."""
    jars, missing = folder / "target" / "all", folder / MISSING.name
    source = MISSING.read_text()
    old = source.replace(_SERVICES, _SERVICES_OF_8)
    missing.write_text(old if version.startswith("8.") else source)
    subprocess.run(
        [
            *(jdk / "bin" / "javac", "-nowarn", "--release", str(MINIMUM_JAVA)),
            *("-d", folder / "classes", "-cp", jars / "*", LAUNCHER, missing),
        ],
        check=True,
    )
    module, plugin = folder / "modules" / _NETTY, folder / "plugins" / "missing"
    module.mkdir(parents=True)
    plugin.mkdir(parents=True)
    with zipfile.ZipFile(jars / f"{_NETTY}-{version}.jar") as jar:
        inside = f"META-INF/es-plugins/{_NETTY}/"
        for entry in jar.namelist():
            if entry.startswith(inside) and not entry.endswith("/"):
                text = _NOT_HERE.sub("", jar.read(entry).decode())
                (module / entry.removeprefix(inside)).write_text(text)
    inside_module = ("netty-*", f"{_NETTY}-*", "*-ssl-config-*")
    for jar_file in [one for pattern in inside_module for one in jars.glob(pattern)]:
        jar_file.rename(module / jar_file.name)
    jars.rename(folder / "target" / "lib")
    _pack(jdk, folder, "StartNode", folder / "target" / "lib" / "start-node.jar")
    _pack(jdk, folder, "Missing", plugin / "missing.jar")
    described = {
        "description": "what Maven Central lacks",
        "version": "1",
        "name": "missing",
        "java.version": str(MINIMUM_JAVA),
        "elasticsearch.version": version,
        "classname": "Missing",
    }
    lines = "".join(f"{name}={value}\n" for name, value in described.items())
    (plugin / "plugin-descriptor.properties").write_text(lines)


def _pack(jdk: Path, folder: Path, name: str, jar: Path) -> None:
    classes = folder / "classes"
    found = [path.name for path in classes.glob(f"{name}*.class")]
    command = [jdk / "bin" / "jar", "-c", "-f", jar]
    parts = [part for one in found for part in ("-C", str(classes), one)]
    subprocess.run([*command, *parts], check=True)

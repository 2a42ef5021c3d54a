"""Build a release into dist/: wheel, source archive, CycloneDX SBOM and checksums.

    python scripts/release.py        # what `make release` runs

The wheel holds the SBOM of its dependencies, as pinned in requirements.lock, and of the model.
Both archives are built twice, the wheel the second time from the source archive, and compared byte
by byte. Needs the dependency group `release`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SBOM = ROOT / "sbom.cdx.json"
MODELS = ROOT / "slice_os" / "models"


def build(target: str, source: Path, out: Path) -> Path:
    """Build ``wheel`` or ``sdist`` from a folder; return the archive."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)
    (archive,) = out.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return archive


def write_sbom(folder: Path) -> None:
    """Write the components of a base install, and the bundled models, to `SBOM`."""
    wheel, environment = build("wheel", ROOT, folder / "plain"), folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(python)]
    pins = ["--constraint", str(ROOT / "requirements.lock")]
    subprocess.run([*pip, *pins, str(wheel)], check=True)
    tool = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"]
    about = ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library"]
    subprocess.run([*tool, *about, "--output-file", str(SBOM), str(python)], check=True)
    bill = json.loads(SBOM.read_text("utf-8"))
    for weights in sorted(MODELS.glob("*/model.onnx")):
        name = weights.parent.name
        content = hashlib.sha256(weights.read_bytes()).hexdigest()
        bill["components"].append(
            {
                "type": "machine-learning-model",
                "bom-ref": name,
                "name": name,
                "hashes": [{"alg": "SHA-256", "content": content}],
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        )
    SBOM.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n", "utf-8")


def rebuilt(archive: Path, folder: Path) -> Path:
    """The same archive, built again; a wheel from the unpacked source archive."""
    if archive.suffix != ".whl":
        return build("sdist", ROOT, folder / "again")
    with tarfile.open(next(DIST.glob("*.tar.gz"))) as sources:
        sources.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return build("wheel", source, folder / "again")


def main() -> None:
    """Build, compare, and write the checksums."""
    commit = ["git", "log", "-1", "--format=%ct"]
    stamp = subprocess.run(commit, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    os.environ["SOURCE_DATE_EPOCH"] = stamp.strip()
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        SBOM.unlink(missing_ok=True)
        try:
            write_sbom(folder)
            for archive in (build("sdist", ROOT, DIST), build("wheel", ROOT, DIST)):
                if rebuilt(archive, folder).read_bytes() != archive.read_bytes():
                    sys.exit(f"{archive.name}: a second build differs from the first")
            shutil.copy(SBOM, DIST)
        finally:
            SBOM.unlink(missing_ok=True)  # builds ship it where it is
    sums = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}" for one in DIST.iterdir()]
    (DIST / "SHA256SUMS").write_text("".join(f"{line}\n" for line in sorted(sums)), "utf-8")
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

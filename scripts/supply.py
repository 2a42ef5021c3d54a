"""What a release is made of: pins with hashes, images by digest, and data sets with their licenses.

    python scripts/supply.py check      # lists what lacks one; `make release` ends there
    python scripts/supply.py lock       # pins what pyproject.toml allows now: `make lock`
    python scripts/supply.py digests    # looks up the digests of images; needs docker buildx
    python scripts/supply.py audit      # pins that are outdated or have an advisory: `make audit`

The last three need a network; `audit` says in a line what it could not reach. It ends with 1 if a
pin has an advisory.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
DOCKERFILES = (ROOT / "Dockerfile", ROOT / "plugin" / "Dockerfile")
_PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)((?:.*\\\n)*.*)", re.MULTILINE)
_FROM = re.compile(r"^FROM ([^\s@]+)(@sha256:[0-9a-f]{64})?(.*)$", re.MULTILINE)
_ROW = re.compile(r"^\| ([\w-]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_SET = re.compile(r"^    - ([\w, -]+): (.+(?:\n      .+)*)", re.MULTILINE)
_HEAD = "# Pins, with hashes; pyproject.toml has the ranges. Made by `make lock`.\n"
_RESOLVE = (
    *("-m", "uv", "pip", "compile", "--quiet", "--universal", "--upgrade", "--python-version=3.10"),
    *("--all-extras", "--group=dev", "--group=torch", "--group=release", "--generate-hashes"),
    *("--no-annotate", "--no-header", "pyproject.toml"),
)
_DIGEST = ("docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}")


def pins(lock: str) -> dict[tuple[str, str], str]:
    """Names and versions with what follows: markers and hashes."""
    return {(name, version): rest for name, version, rest in _PIN.findall(lock)}


def images(dockerfile: str) -> Iterator[tuple[str, str]]:
    """The images that a Dockerfile begins with, and their digests or ``""``."""
    stages = set(re.findall(r"^FROM .* AS (\w+)$", dockerfile, re.MULTILINE))
    values = dict(re.findall(r"^ARG (\w+)=(\S+)$", dockerfile, re.MULTILINE))
    for image, digest, _ in _FROM.findall(dockerfile):
        if image not in stages:
            yield re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], image), digest


def notice() -> dict[str, str]:
    """What NOTICE says of each data set."""
    found: dict[str, str] = {}
    for names, text in _SET.findall((ROOT / "NOTICE").read_text("utf-8")):
        found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


def trained_on() -> Iterator[tuple[str, str, str]]:
    """A model, a data set that its recipes name, and its licenses; ``""`` if its card has none."""
    recipe = tomllib.loads((ROOT / "recipes" / "slice-mini.toml").read_text("utf-8"))
    card = (ROOT / "slice_os/models/slice-mini/README.md").read_text("utf-8")
    for data in recipe["data"].values():
        told = all(
            name in card for name in re.findall(r"[A-Z]{3,}|Open \w+ WordNet", data["source"])
        )
        for file in data["files"]:
            yield "slice-mini", file.split("/")[0], data["license"] if told else ""
    mixture = tomllib.loads((ROOT / "recipes/verifier_parts/mixture.toml").read_text("utf-8"))
    card = (ROOT / "slice_os/models/slice-verify/README.md").read_text("utf-8")
    rows = {name: (middle, licenses) for name, middle, licenses in _ROW.findall(card)}
    for name in mixture.keys() - {"usual", "frames"}:  # written for SLICE-OS
        yield "slice-verify", name, rows.get(name, ("", ""))[1]
    decision = json.loads((ROOT / "slice_os/verifier/decision.json").read_text("utf-8"))
    hits = {path.stem for path in (ROOT / "recipes" / "labelled").glob("*.jsonl")}
    hits |= {name for name in decision["sets"] if not name.startswith("read-")}
    for kind in sorted(hits - {"written", "development"}):
        texts, licenses = rows.get(kind, (kind, ""))
        for name in texts.partition(", its")[0].split(", "):
            yield "slice-verify", name, licenses


def faults() -> Iterator[str]:
    """What a release lacks, a line each."""
    for (name, version), rest in pins(LOCK.read_text("utf-8")).items():
        if "--hash=sha256:" not in rest:
            yield f"{LOCK.name}: {name} {version} has no hash: run `make lock`"
    for path in DOCKERFILES:
        for image, digest in images(path.read_text("utf-8")):
            if not digest:
                where = path.relative_to(ROOT)
                yield f"{where}: {image} has no digest: run `python scripts/supply.py digests`"
    known = notice()
    for model, name, licenses in sorted(set(trained_on())):
        if not licenses:
            yield f"slice_os/models/{model}/README.md: {name} has no license: add a row for it"
        elif not any(one in known.get(name, "") for one in re.split(r" \(|, ", licenses)):
            yield f"NOTICE: {name}, on which {model} was trained, is missing: add {licenses}"


def write_digests() -> None:
    """Write the digests that the images have now behind their names."""
    for path in DOCKERFILES:
        text = path.read_text("utf-8")
        for image, _ in images(text):
            asked = subprocess.run([*_DIGEST, image], capture_output=True, text=True)
            if asked.returncode:
                sys.exit(f"{image}: its digest cannot be looked up: {told(asked.stderr)}")
            plain = image.rpartition(":")[0]
            line = re.compile(rf"^(FROM {re.escape(plain)}:[^\s@]+)(@\S+)?", re.MULTILINE)
            text = line.sub(rf"\1@{asked.stdout.strip()}", text)
        path.write_text(text, "utf-8")


def resolved() -> str:
    """The newest pins that pyproject.toml allows, with hashes."""
    made = subprocess.run([sys.executable, *_RESOLVE], cwd=ROOT, capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"pins cannot be resolved, is there a network? {told(made.stderr)}")
    return made.stdout


def told(errors: str) -> str:
    """The last line of what a command wrote."""
    return (errors.strip() or "no answer").splitlines()[-1].strip()


def audited() -> list[dict[str, Any]]:
    """Pins of this environment, each with its advisories, or with why they are not known."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes"]
    options = ["--disable-pip", "--progress-spinner=off", "--format=json"]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        sys.exit(f"advisories cannot be read, is there a network? {told(done.stderr)}")
    return found


def audit() -> None:
    """Print the pins that are outdated, and those with an advisory."""
    newer = pins(resolved()).keys() - pins(LOCK.read_text("utf-8")).keys()
    for name, version in sorted(newer):
        print(f"{name}: {version} is newer")
    found = audited()
    unknown = [one for one in found if "skip_reason" in one]
    if unknown:
        why = unknown[0]["skip_reason"]
        print(f"advisories of {len(unknown)} of {len(found)} pins are not known: {why}")
    bugs = [(one, bug) for one in found for bug in one.get("vulns", ())]
    for one, bug in bugs:
        mended = ", ".join(bug["fix_versions"]) or "no version"
        print(f"{one['name']} {one['version']}: {bug['id']}, mended in {mended}")
    print(f"{len(bugs)} advisories about {len(found) - len(unknown)} pins")
    sys.exit(bool(bugs))


def main() -> None:
    """Do one of the four."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["check", "lock", "digests", "audit"])
    action = parser.parse_args().action
    if action == "lock":
        LOCK.write_text(_HEAD + resolved(), "utf-8")
    elif action == "digests":
        write_digests()
    elif action == "audit":
        audit()
    elif found := list(faults()):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()

"""Average the weights of trained verifiers, and export the result as a verifier folder.

    python recipes/average_verifiers.py OUT FOLDER=SHARE...

Each FOLDER is one that recipes/verifier.py wrote, or the folder ``checkpoint`` in it; the first
is a whole one. All have the same base, and word embeddings, which training leaves as they were.
OUT/torch has the weights, OUT/verifier the verifier. See "model soups" (Wortsman et al., 2022).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

from recipes.verifier_parts.exporting import export_verifier

FILES = ("model.safetensors", "weights.safetensors")


def main() -> None:
    """Average and export."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("parts", nargs="+", metavar="FOLDER=SHARE")
    options = parser.parse_args()
    parts = [one.rpartition("=") for one in options.parts]
    whole = sum(float(share) for _, _, share in parts)
    first = Path(parts[0][0])
    shutil.copytree(
        first, options.out / "torch", ignore=shutil.ignore_patterns("checkpoint", "log*")
    )
    weights = load_file(str(first / FILES[0]))
    loaded = [load_file(str(_weights(Path(folder)))) for folder, _, _ in parts]
    for name in set.intersection(*map(set, loaded)):
        weights[name] = sum(
            one[name] * (float(share) / whole)
            for one, (_, _, share) in zip(loaded, parts, strict=True)
        )
    save_file(weights, str(options.out / "torch" / FILES[0]), metadata={"format": "pt"})
    parity = export_verifier(
        options.out / "torch",
        options.out / "verifier",
        name="slice-verify",
        license_name="MIT",
        max_length=96,
    )
    print(parity)


def _weights(folder: Path) -> Path:
    return next(folder / name for name in FILES if (folder / name).is_file())


if __name__ == "__main__":
    main()

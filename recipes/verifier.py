"""Train a verifier on contrasts, and export it as a verifier folder.

    python recipes/contrasts.py DATA contrasts.jsonl
    python recipes/verifier.py RECIPE contrasts.jsonl OUT [--model FOLDER]

RECIPE is recipes/verifiers/slice-verify.toml. OUT/torch has the weights and the log, OUT/verifier
the verifier. Needs pip install -e '.[export,train]'.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from recipes.verifier_parts.contrast_rows import read_rows
from recipes.verifier_parts.exporting import export_verifier
from recipes.verifier_parts.training import read_recipe, train_verifier
from slice_os.training.progress import Tick


def main() -> None:
    """Train and export."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("contrasts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", help="instead of the recipe's, such as a folder")
    parser.add_argument("--steps", type=int, help="instead of the recipe's")
    options = parser.parse_args()
    recipe = read_recipe(options.recipe)
    recipe = replace(
        recipe, model=options.model or recipe.model, steps=options.steps or recipe.steps
    )
    contrasts = list(read_rows(options.contrasts))
    print(f"{len(contrasts):,} contrasts", flush=True)

    def show(tick: Tick) -> None:
        if tick.done % 50 == 0:
            left = f"{(tick.seconds_left or 0) / 60:.0f} minutes left"
            print(f"step {tick.done} of {tick.total}, loss {tick.loss:.3f}, {left}", flush=True)

    train_verifier(recipe, contrasts, options.out / "torch", show)
    if not recipe.exported:
        return
    parity = export_verifier(
        options.out / "torch",
        options.out / "verifier",
        name=recipe.name,
        license_name=recipe.license,
        max_length=recipe.max_length,
    )
    print(parity)


if __name__ == "__main__":
    main()

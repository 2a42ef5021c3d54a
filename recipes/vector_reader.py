"""Train a reader of vectors on readings that the bundled verifier gave its log-odds.

    python recipes/reader_hits.py DATA contrasts.jsonl HITS
    python recipes/labelled_readings.py DATA contrasts.jsonl HITS
    python recipes/vector_reader.py RECIPE HITS OUT [--model FOLDER]

RECIPE is recipes/verifiers/vector-reader.toml. With a folder of a BERT encoder, such as
all-MiniLM-L6-v2, the reader starts from its uppermost layers, and is as wide. Hits over the kinds
of text that the recipe leaves out, and their phrases, are for development: OUT/log.jsonl has how
well they are ordered. A run that stops goes on from its last checkpoint; the result is
OUT/weights.safetensors.
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from recipes.verifier_parts.vector_network import VectorNetwork, from_encoder
from recipes.verifier_parts.vector_training import (
    ReaderRecipe,
    ReaderRun,
    agreement,
    batches,
    groups_of,
)
from slice_os.records import read_record
from slice_os.training.run import RunLog, claim_folder
from slice_os.training.stage import load_checkpoint, save_checkpoint

DIMENSION = 384


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe", type=Path)
    parser.add_argument("hits", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", type=Path, help="an encoder to start from")
    parser.add_argument("--steps", type=int, help="instead of the recipe's")
    options = parser.parse_args()
    recipe = read_record(ReaderRecipe, options.recipe)
    recipe = replace(recipe, steps=options.steps or recipe.steps)
    claim_folder(options.out, recipe)
    paths = sorted(options.hits.glob("*.npz"))
    apart = [path for path in paths if path.stem.split("-")[1] in recipe.left_out]
    development = groups_of(apart)
    theirs = {one.phrase for one in development if one.readings.right[one.rows].max() >= 0}
    groups = [one for one in groups_of(sorted({*paths} - {*apart})) if one.phrase not in theirs]
    if not development or len(groups) < recipe.phrases:
        raise SystemExit(
            f"{options.hits} has hits of {len(groups)} phrases, and {len(development)} for "
            f"development: make files of {recipe.phrases} or more, and of one of the kinds "
            f"{', '.join(recipe.left_out)}"
        )
    print(f"{sum(len(g.rows) for g in groups):,} hits of {len(groups):,} phrases", flush=True)
    torch.manual_seed(recipe.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sizes = recipe.layers, recipe.dropout
    if options.model:
        network = from_encoder(options.model, *sizes)
    else:
        network = VectorNetwork(DIMENSION, recipe.width, recipe.inner, *sizes)
    network.to(device)
    run = ReaderRun(recipe, network)
    first = load_checkpoint(options.out / "checkpoint", run)
    began = time.monotonic()
    with closing(RunLog(options.out, recipe.name, tensorboard=False)) as log:
        for step, batch in zip(
            range(first, recipe.steps), batches(groups, recipe, first), strict=False
        ):
            losses = run.step(step, batch)
            last = step + 1 == recipe.steps
            if (recipe.save_every and (step + 1) % recipe.save_every == 0) or last:
                losses |= agreement(network, development, recipe.bf16)
                save_checkpoint(options.out / "checkpoint", run, step + 1)
            log.write(step + 1, losses)
            if (step + 1) % 20 == 0:
                pace = (time.monotonic() - began) / (step + 1 - first)
                told = ", ".join(f"{name} {value:.3f}" for name, value in losses.items())
                print(f"step {step + 1} of {recipe.steps}, {pace:.2f} s each: {told}", flush=True)
    save_file(network.state_dict(), options.out / "weights.safetensors")


if __name__ == "__main__":
    main()

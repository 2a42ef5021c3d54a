"""PCPE on PiC PS: phrases through the prompts of a language model (Tsakam 2025, table 1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slice_os.evaluation.encoders.causal import PROMPTS, CausalEncoder, CausalModel
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Option, Progress, quiet, track
from slice_os.evaluation.measures import ACCURACY, COST, measured
from slice_os.evaluation.pic.pairs import (
    DATA,
    IN_CONTEXT,
    PHRASE,
    SETTINGS,
    SPLIT_OPTION,
    encode_pairs,
    fit_discriminant,
    load_splits,
)
from slice_os.evaluation.results import Evaluation, Row


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    models: Sequence[str] = (),
    split: str | None = None,
    limit: int | None = None,
) -> Evaluation:
    """Accuracy by a linear discriminant of the cosine, fitted on train."""
    splits = load_splits(data, split)
    train, tested = (splits.pairs[name][:limit] for name in ("train", splits.split))
    work: list[tuple[TextEncoder, str, str | None]] = []
    work += [(encoder, setting, None) for encoder in encoders for setting in SETTINGS]
    for model in map(CausalModel, models):
        for case in PROMPTS:
            setting = PHRASE if case == PHRASE else IN_CONTEXT
            work.append((CausalEncoder(model, case, model.name), setting, case))
    rows: list[Row] = []
    for encoder, setting, prompt in track(work, "encoders and prompts", len(work), progress):
        before = encoder.cost
        fitted_on = encode_pairs(encoder, train, setting)
        vectors = encode_pairs(encoder, tested, setting)
        cost = encoder.cost - before
        discriminant = fit_discriminant(fitted_on.cosines, fitted_on.similar)
        right = discriminant.predict(vectors.cosines) == vectors.similar
        rows.append(
            {
                "encoder": encoder.name,
                "setting": setting,
                "prompt": prompt,
                **measured((ACCURACY,), right),
                "threshold": discriminant.threshold,
                "pairs": len(tested),
                **measured(COST, cost),
            }
        )
    return Evaluation(
        "pcpe",
        tuple(rows),
        splits.files,
        {"split": splits.split, "train_pairs": len(train)},
        splits.notes,
    )


HARNESS = Harness(
    "pcpe",
    "PCPE on PiC phrase similarity: phrases through the prompts of a language model.\n\n"
    "Each --model is asked to define the phrases by themselves (prompt phrase), in their "
    "sentence (context), and there in one word (eol); a linear discriminant of the cosines is "
    "fitted on the train split.",
    DATA,
    run,
    options=(
        Option(
            "models",
            "Causal language model, a Hugging Face name or folder; repeatable.",
            metavar="MODEL",
        ),
        SPLIT_OPTION,
        Option("limit", "Only the first N pairs of each split.", least=2),
    ),
)

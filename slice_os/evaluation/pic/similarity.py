"""PiC phrase similarity: do two phrases mean the same in their sentence (PiC, section 5.1)?

And the same by the prompts of a language model (PCPE; Tsakam 2025, table 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
import orjson

from slice_os.arrays import BoolArray
from slice_os.errors import InputError
from slice_os.evaluation.encoders.causal import PROMPTS, CausalEncoder, CausalModel
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, Settings, quiet, track
from slice_os.evaluation.measures import ACCURACY, COST, measured
from slice_os.evaluation.pic.pairs import (
    IN_CONTEXT,
    PHRASE,
    SETTINGS,
    PairSplits,
    PairVectors,
    PlacedPair,
    best_threshold,
    encode_pairs,
    fit_discriminant,
    hold_out,
    load_splits,
    train_classifier,
)
from slice_os.evaluation.results import Evaluation, Example, Figure, Row, Series
from slice_os.records import at_least, one_of

DATA = "Folder of PiC PS, with train and dev or test (ps_train.json, …)."
Split: TypeAlias = Annotated[
    str | None,
    one_of(("dev", "test")),
    "The split to report.  [default: test, or dev if there is no test]",
]
COSINE, CLASSIFIER = METHODS = ("cosine", "classifier")
SEEDS = 3
EXAMPLES = 4

# PiC, Table 3: accuracy on the test split.
QUOTED = Path(__file__).with_name("quoted.json")


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    settings: Settings = (),
    split: Split = None,
    methods: Annotated[
        tuple[str, ...],
        one_of(METHODS),
        "How to decide; the classifier needs torch; repeatable.  [default: cosine]",
    ] = (),
) -> Evaluation:
    """Measure accuracy with a threshold on cosines, and with the classifier of the paper."""
    splits = load_splits(data, split)
    rows: list[Row] = []
    figures: list[Figure] = []
    examples: list[Example] = []
    methods = methods or (COSINE,)
    work = [(encoder, setting) for encoder in encoders for setting in settings or SETTINGS]
    for encoder, setting in track(work, "encoders and settings", len(work), progress):
        before = encoder.cost
        train = encode_pairs(encoder, splits.pairs["train"], setting)
        tested = encode_pairs(encoder, splits.pairs[splits.split], setting)
        cost = encoder.cost - before
        title = f"{encoder.name}, {setting}"
        results: dict[str, tuple[BoolArray, dict[str, float]]] = {}
        if COSINE in methods:
            threshold = best_threshold(train.cosines, train.similar)
            right = (tested.cosines >= threshold) == tested.similar
            fitted = float(np.mean((train.cosines >= threshold) == train.similar))
            results[COSINE] = right, {"threshold": threshold, "train_accuracy": fitted}
            series = (
                Series("same meaning", tuple(tested.cosines[tested.similar].tolist())),
                Series("other meaning", tuple(tested.cosines[~tested.similar].tolist())),
            )
            label = "cosine of the two phrases"
            figures.append(Figure("histogram", title, label, "pairs", series))
            examples.extend(_examples(title, splits.pairs[splits.split], tested, right, threshold))
        if CLASSIFIER in methods:
            results[CLASSIFIER] = _classify(encoder, setting, splits, train, tested)
        rows += [
            {
                "encoder": encoder.name,
                "setting": setting,
                "method": method,
                "source": "measured",
                **measured((ACCURACY,), right),
                **found,
                "pairs": right.shape[-1],
                "not_found": splits.not_found[splits.split],
                **measured(COST, cost),
            }
            for method, (right, found) in results.items()
        ]
    if splits.split == "test":
        quotes: list[Row] = orjson.loads(QUOTED.read_bytes())
        rows += [
            row
            for method in methods
            for row in quotes
            if row["method"] == method and row["setting"] in (settings or SETTINGS)
        ]
    return Evaluation(
        "pic-ps",
        tuple(rows),
        splits.files,
        {"split": splits.split},
        splits.notes,
        figures=tuple(figures),
        examples=tuple(examples),
    )


def _classify(
    encoder: TextEncoder, setting: str, splits: PairSplits, train: PairVectors, tested: PairVectors
) -> tuple[BoolArray, dict[str, float]]:
    """Train with several seeds; which pairs are right, ``(SEEDS, n)``, and cells for the row."""
    if splits.split != "dev" and "dev" in splits.pairs:
        dev = encode_pairs(encoder, splits.pairs["dev"], setting)
    else:
        # The reported split must not decide when training stops.
        held = hold_out(splits.pairs["train"])
        train, dev = train.select(~held), train.select(held)
    trained = [
        train_classifier(train.side_by_side, train.similar, dev.side_by_side, dev.similar, seed)
        for seed in range(SEEDS)
    ]
    right = np.stack([one.predict(tested.side_by_side) == tested.similar for one in trained])
    return right, {
        "accuracy_deviation": float(right.mean(axis=1).std(ddof=1)),
        "train_accuracy": float(
            np.mean([one.predict(train.side_by_side) == train.similar for one in trained])
        ),
        "epochs": float(np.mean([one.epochs for one in trained])),
    }


def _examples(
    title: str, pairs: Sequence[PlacedPair], tested: PairVectors, right: BoolArray, threshold: float
) -> Iterator[Example]:
    """The pairs furthest on the wrong side of the threshold."""
    values = tested.cosines
    for kind, rows in (
        ("too high", np.flatnonzero(~right & ~tested.similar)),
        ("too low", np.flatnonzero(~right & tested.similar)),
    ):
        for row in rows[np.argsort(-np.abs(values[rows] - threshold), kind="stable")][:EXAMPLES]:
            pair, place = pairs[row].pair, pairs[row].place2
            note = f"cosine {values[row]:.3f}, threshold {threshold:.3f}"
            yield Example(f"{title}: {kind}", pair.phrase1, pair.sentence2, place, None, note)


HARNESS = Harness(
    "pic-ps",
    "PiC phrase similarity: do two phrases mean the same in their sentence?\n\n"
    "A threshold on cosines, or a small classifier over both vectors, is fitted on the train "
    "split. The phrases are encoded by themselves and in their sentence.",
    DATA,
    run,
    SETTINGS,
)


def run_prompts(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    models: Annotated[
        tuple[str, ...],
        "MODEL",
        "Causal language model, a Hugging Face name or folder; repeatable.",
    ] = (),
    split: Split = None,
    limit: Annotated[int | None, at_least(2), "Only the first N pairs of each split."] = None,
) -> Evaluation:
    """Accuracy by a linear discriminant of the cosine, fitted on train."""
    splits = load_splits(data, split)
    train, tested = (splits.pairs[name][:limit] for name in ("train", splits.split))
    if len({one.pair.similar for one in train}) < 2:
        raise InputError(f"the first {limit} pairs of train have one label; give a greater limit")
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


PCPE = Harness(
    "pcpe",
    "PCPE on PiC phrase similarity: phrases through the prompts of a language model.\n\n"
    "Each --model is asked to define the phrases by themselves (prompt phrase), in their "
    "sentence (context), and there in one word (eol); a linear discriminant of the cosines is "
    "fitted on the train split.",
    DATA,
    run_prompts,
)

"""The model card of a run: which data the weights were made from, and how."""

from __future__ import annotations

from collections.abc import Mapping

from slice_os.training.config import TrainingConfig
from slice_os.training.dev import DevResult
from slice_os.training.loaded_sets import Counts


def model_card(
    config: TrainingConfig, datasets: Mapping[str, Counts], before: DevResult, after: DevResult
) -> str:
    """A README.md with the license in its front matter, the data, the stages and dev metrics."""
    lines = [
        "---",
        f"license: {config.license}",
        f"base_model: {config.model}",
        "library_name: transformers",
        "tags: [span-retrieval, phrase-mining, feature-extraction]",
        "---",
        "",
        f"# {config.name}",
        "",
        "Token vectors whose mean over any consecutive words is the vector of that phrase: mean",
        "pooling over a span's word pieces, cosine similarity. Made by `slice-os model train`.",
        "",
        "## Data",
        "",
        "| data set | records | dropped: evaluation sentence | dropped: unfit | license | source |",
        "|---|---|---|---|---|---|",
    ]
    for name, counts in datasets.items():
        data = config.data[name]
        lines.append(
            f"| {name} ({data.part}) | {counts.records:,} | {counts.contaminated:,} "
            f"| {counts.unfit:,} | {data.license} | {data.source} |"
        )
    lines += ["", "## Stages", ""]
    for stage in config.stages:
        terms = ", ".join(
            f"{term.weight:g} × {term.kind} on {' + '.join(term.data)} (batch {term.batch})"
            for term in stage.objectives
        )
        lines.append(
            f"- {stage.name}: {stage.steps} steps from {stage.start}, learning rate "
            f"{stage.learning_rate:g}{', two teachers' if stage.two_teachers else ''}: {terms}"
        )
    if config.soup:
        shares = [f"{share:g} of {name}" for name, share in config.soup.items()]
        rest = 1 - sum(config.soup.values())
        lines += ["", f"Weights: {' + '.join(shares)} + {rest:g} of {config.model}."]
    if config.second_teacher is not None:
        lines += [
            "",
            f"Second teacher: {config.second_teacher.model} ({config.second_teacher.license}).",
        ]
    lines += [
        "",
        "## Dev metrics",
        "",
        "On data that was held out; see the recipe. No evaluation set was used for choosing.",
        "",
        "| | Pearson, best span in context | AUC, substitutes in context |",
        "|---|---|---|",
        f"| {config.model} | {before.pearson:.3f} | {before.auc:.3f} |",
        f"| {config.name} | {after.pearson:.3f} | {after.auc:.3f} |",
        "",
    ]
    return "\n".join(lines)

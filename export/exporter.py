"""Export: from a torch encoder to a model folder that agrees with it."""

from __future__ import annotations

import inspect
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder import model_folder
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.hugging_face import LoadedModel, load_encoder
from slice_os.encoder.token_model import OnnxRuntimeEngine, principal_projection, read_projection
from slice_os.errors import ModelError, imported
from slice_os.export.graph import RECIPES, write_graph
from slice_os.export.parity import (
    CALIBRATION_TEXT,
    MAX_WORDS,
    PARITY_TEXT,
    Feeds,
    ParityReport,
    Runner,
    bundled_samples,
    compare,
    feeds,
    span_sums,
)

PRECISIONS = tuple(RECIPES)
PARITY_FILE = "parity.json"
# What has to be there, what for, and the extra that brings it.
OPTIMUM = ("optimum.exporters.onnx", "exporting a model", "export")


def export_model(
    model: str | Path,
    out: str | Path,
    *,
    precision: str = "fp32",
    name: str | None = None,
    license_name: str | None = None,
    threshold: float = 0.6,
    force: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> ParityReport:
    """Export an encoder as a model folder, if the result agrees with torch on the bundled text.

    The folder appears complete or not at all. It holds ``model.onnx``, ``tokenizer.json``, the
    card ``model.json``, ``parity.json``, and ``projection.npy`` for short vectors: the one that
    `slice-os model train` found if the model's folder has it, otherwise the principal directions of
    the spans of the bundled text.

    Args:
        model: Hugging Face name, or a folder of transformers or sentence-transformers.
        out: folder to write.
        precision: ``fp32``, ``fp16`` or ``int8``.
        name: for the card; the name of ``model`` if None.
        license_name: SPDX expression for the card; what the model's README declares if None.
        threshold: for the card: the cosine from which a span counts as a hit.
        force: replace a model folder at ``out``.
        progress: called with each step as it starts.

    Raises:
        MissingExtraError: without the extra ``export``.
        ModelError: if the model cannot be exported, ``out`` is in the way, or parity fails.
    """
    if precision not in PRECISIONS:
        raise ModelError(f"no precision {precision!r}; there are {', '.join(PRECISIONS)}")
    imported(*OPTIMUM)
    target = Path(out)
    _check_target(target, force)
    with quiet(), appearing(target) as folder:
        progress(f"loading {model}")
        source = load_encoder(str(model))
        source.plain_tokenizer().save(str(folder / model_folder.TOKENIZER_FILE))
        aligner = Aligner(folder / model_folder.TOKENIZER_FILE)
        progress(f"exporting to ONNX, {precision}")
        calibration = bundled_samples(CALIBRATION_TEXT, aligner, source.max_length)
        typical = [feeds([sample]) for sample in calibration]
        write_graph(source.network, precision, typical, folder / model_folder.MODEL_FILE)
        progress("comparing with torch")
        samples = bundled_samples(PARITY_TEXT, aligner, source.max_length)
        engine = OnnxRuntimeEngine(folder / model_folder.MODEL_FILE)

        def onnx_model(batch: Feeds) -> FloatArray:
            return engine.run(batch["input_ids"], batch["attention_mask"])

        report = compare(precision, samples, _torch_runner(source.network), onnx_model)
        report.require()
        (folder / PARITY_FILE).write_bytes(report.to_json())
        projection = read_projection(source.folder, source.dimension)
        if projection is None:
            both = [*calibration, *samples]
            spans = np.concatenate([span_sums(onnx_model(feeds([s]))[0], s.words) for s in both])
            units = spans / np.linalg.norm(spans, axis=1, keepdims=True)
            projection = principal_projection(units)
        short = projection.astype(np.float16)
        np.save(folder / model_folder.PROJECTION_FILE, short, allow_pickle=False)
        card = model_folder.ModelCard(
            encoder_id=model_folder.content_id(folder),
            name=name or source.name,
            dimension=source.dimension,
            max_length=source.max_length,
            pooling="mean",
            min_words=1,
            max_words=MAX_WORDS,
            precision=precision,
            license=license_name or source.license,
            provenance=provenance(source.name, source, RECIPES[precision]),
            threshold=threshold,
        )
        (folder / model_folder.CARD_FILE).write_bytes(card.to_json())
        model_folder.seal(folder)
    return report


def _check_target(target: Path, force: bool) -> None:
    if target.exists() and not target.is_dir():
        raise ModelError(f"{target}: is a file; choose a folder")
    if target.is_dir() and any(target.iterdir()):
        try:
            model_folder.read_card(target)
        except ModelError:
            reason = "not empty, and not an exported model; choose another folder"
            raise ModelError(f"{target}: {reason}") from None
        if not force:
            raise ModelError(f"{target}: already holds a model; --force replaces it")


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """A folder to fill; it replaces ``target`` if all goes well."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".export-") as scratch:
            # A subfolder, because the temporary folder itself is closed to other users.
            folder = Path(scratch) / "model"
            folder.mkdir()
            yield folder
            replaced = Path(scratch) / "replaced"
            if target.exists():
                target.rename(replaced)
            try:
                folder.rename(target)
            except OSError:
                if replaced.exists():
                    replaced.rename(target)
                raise
    except OSError as error:
        raise ModelError(f"{target}: cannot be written ({error.strerror or error})") from error


def _torch_runner(model: Any) -> Runner:
    import torch

    known = inspect.signature(model.forward).parameters

    def run(batch: Feeds) -> FloatArray:
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(ids) for name, ids in batch.items() if name in known}
            return np.asarray(model(**tensors).last_hidden_state)

    return run


def provenance(name: str, source: LoadedModel, recipe: str) -> str:
    """The source of a model in a sentence: weights, tools and the recipe of the graph."""
    tools = ", ".join(
        f"{package} {version(package)}"
        for package in ("optimum-onnx", "onnxruntime", "transformers", "torch")
    )
    return f"{name}, weights sha256 {source.weights_hash()}; {tools}; {recipe}"


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the messages that loading, tracing and quantising have for developers."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)

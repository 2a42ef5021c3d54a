"""Models of token vectors as encoders under evaluation, with a card or, from other tools, without.

ONNX folders and Hugging Face models, which torch runs, have no card.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import AlignedText, Aligner
from slice_os.encoder.hugging_face import load_encoder, read_json
from slice_os.encoder.model_folder import (
    BUNDLED,
    CARD_FILE,
    MODEL_FILE,
    TOKENIZER_FILE,
    ModelCard,
    content_id,
    model_folder,
)
from slice_os.encoder.span_encoder import PieceRange, SpanEncoder
from slice_os.encoder.token_model import Engine, Job, OnnxRuntimeEngine, TokenModel, load_model
from slice_os.errors import InputError, ModelError
from slice_os.evaluation.encoders.text_encoder import (
    DEFAULT,
    Cost,
    EncoderSpec,
    Representation,
    TextEncoder,
)

DEFAULT_LENGTH = 512
_DEFAULTS: dict[str, Any] = {"pooling": "mean", "min_words": 1, "max_words": 20, "threshold": 0.6}


def load_onnx_folder(model: str, threads: int | None = None) -> TokenModel:
    """Load an ONNX folder; the first output of its model has to be token vectors."""
    folder = Path(model)
    aligner = Aligner(folder / TOKENIZER_FILE)
    engine = OnnxRuntimeEngine(folder / MODEL_FILE, threads=threads)
    special = [*aligner.prefix, *aligner.suffix]
    probe = np.array([special or [0]], dtype=np.int64)
    vectors = engine.run(probe, np.ones_like(probe))
    if vectors.ndim != 3 or vectors.shape[:2] != probe.shape:
        raise ModelError(
            f"{folder / MODEL_FILE}: its first output is no token vectors; export the model "
            "without pooling, as `slice-os model export` does"
        )
    name = folder.resolve().name
    card = ModelCard(
        encoder_id=content_id(folder),
        name=name,
        dimension=vectors.shape[2],
        max_length=_max_length(folder),
        precision="unknown",
        license="unknown",
        provenance=f"{name}, as found",
        **_DEFAULTS,
    )
    return TokenModel(card, aligner, engine, folder)


def _max_length(folder: Path) -> int:
    """The least of what sentence-transformers, the tokenizer and the positions allow."""
    files = ("config.json", "sentence_bert_config.json", "tokenizer_config.json")
    config, sentences, tokenizer = (read_json(folder / name) or {} for name in files)
    limits = [sentences.get("max_seq_length"), tokenizer.get("model_max_length")]
    if positions := config.get("max_position_embeddings"):
        # RoBERTa and its relatives count positions from behind the padding's.
        shifted = any(name in config.get("model_type", "") for name in ("roberta", "mpnet"))
        limits.append(positions - (config.get("pad_token_id", 1) + 1 if shifted else 0))
    # A tokenizer without a limit reports 1e30.
    known = [int(limit) for limit in limits if limit and limit < 1e9]
    return min(known, default=DEFAULT_LENGTH)


class TorchEngine:
    """A transformers model on torch's GPU, else the CPU; threads are set for the whole process."""

    workers = 1
    batch_pieces = 4_096

    def __init__(self, network: Any, threads: int | None = None) -> None:
        import torch

        if threads:
            torch.set_num_threads(threads)
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._network = network.to(self._device)

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One forward pass; see `slice_os.encoder.token_model.Engine.run`."""
        with self._torch.inference_mode():
            vectors = self._network(
                input_ids=self._torch.from_numpy(ids).to(self._device),
                attention_mask=self._torch.from_numpy(mask).to(self._device),
            ).last_hidden_state
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)


def load_torch_model(model: str, threads: int | None = None) -> TokenModel:
    """Load a Hugging Face encoder in fp32: a folder, or a name on Hugging Face."""
    loaded = load_encoder(model)
    tokenizer, weights = loaded.plain_tokenizer(), loaded.weights_hash()
    identity = hashlib.sha256(weights.encode() + tokenizer.to_str().encode())
    card = ModelCard(
        encoder_id=identity.hexdigest()[:16],
        name=loaded.name,
        dimension=loaded.dimension,
        max_length=loaded.max_length,
        precision="fp32",
        license=loaded.license,
        provenance=f"{loaded.name}, weights sha256 {weights}, in torch",
        **_DEFAULTS,
    )
    engine = TorchEngine(loaded.network, threads)
    return TokenModel(card, Aligner(tokenizer), engine, loaded.folder)


class MeteredEngine:
    """Another engine, with a count of its passes and of their tokens; see `Cost`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self.workers = engine.workers
        self.batch_pieces = engine.batch_pieces
        self.passes = 0
        self.tokens = 0

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One batch; see `Engine.run`."""
        with self._lock:
            self.passes += len(ids)
            self.tokens += int(mask.sum())
        return self._engine.run(ids, mask)


def sentence_vectors(model: TokenModel, texts: Sequence[str]) -> FloatArray:
    """The mean of all token vectors of each text, those of special tokens included.

    For a text that fits the model, this is the sentence vector of sentence-transformers with
    mean pooling; for a longer one, it is the mean over all windows. Returns float32 ``(n_texts,
    dimension)``, zeros for a text without word pieces.
    """
    aligned = [model.aligner.align(text) for text in texts]
    batches = model.batches((one, 0, len(one.piece_ids)) for one in aligned)
    sums = np.zeros((len(texts), model.card.dimension))
    counts = np.zeros(len(texts))

    def run(batch: list[Job]) -> tuple[FloatArray, IntArray]:
        vectors, mask = model.run(batch)
        return np.einsum("bld,bl->bd", vectors, mask.astype(np.float32)), mask.sum(axis=1)

    with ThreadPoolExecutor(model.engine.workers, thread_name_prefix="encode") as executor:
        for batch, (vectors, pieces) in zip(batches, executor.map(run, batches), strict=True):
            rows = [row for row, _, _ in batch]
            np.add.at(sums, rows, vectors)
            np.add.at(counts, rows, pieces)
    means: FloatArray = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return means


class ModelEncoder(TextEncoder):
    """A `TokenModel` under evaluation; ``start-end`` is as in DensePhrases (Lee et al. 2021)."""

    spans: SpanEncoder

    def __init__(
        self, model: TokenModel, name: str, representation: Representation = "mean"
    ) -> None:
        self._meter = MeteredEngine(model.engine)
        self._model = replace(model, engine=self._meter)
        self._seconds = 0.0
        self.spans = SpanEncoder(self._model)
        self.name = name
        self.representation = representation
        self.identity = f"{model.card.encoder_id}-{representation}"

    @property
    def cost(self) -> Cost:
        return Cost(self._meter.passes, self._meter.tokens, self._seconds)

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """For ``start-end``, the first and last token of its words."""
        width = self._model.card.dimension * (2 if self.representation == "start-end" else 1)
        vectors = np.zeros((len(texts), width), dtype=np.float32)
        for row, (aligned, pieces) in enumerate(self.tokens(texts)):
            if self.representation == "start-end" and len(aligned.words):
                first, last = aligned.words[0, 2], aligned.words[-1, 3] - 1
                vectors[row] = np.concatenate([pieces[first], pieces[last]])
            elif self.representation == "mean" and len(pieces):
                vectors[row] = pieces.mean(axis=0)
        return vectors

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        if self.representation == "start-end":
            return self.phrases(texts)
        start = time.perf_counter()
        vectors = sentence_vectors(self._model, texts)
        self._seconds += time.perf_counter() - start
        return vectors

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        aligned = [self.spans.align(text) for text in texts]
        ranges = [PieceRange(one, 0, len(one.piece_ids)) for one in aligned]
        start = time.perf_counter()
        for item in zip(aligned, self.spans.encode_ranges(ranges), strict=True):
            self._seconds += time.perf_counter() - start
            yield item
            start = time.perf_counter()
        self._seconds += time.perf_counter() - start


def open_model(spec: EncoderSpec) -> ModelEncoder:
    """Open a model folder, an ONNX folder or a Hugging Face model, or ``start-end:`` one."""
    path = Path(spec.model)
    folders = (base / spec.model / CARD_FILE for base in (Path(), BUNDLED))
    if spec.model == DEFAULT or any(card.is_file() for card in folders):
        folder = model_folder(None if spec.model == DEFAULT else spec.model)
        model, name = load_model(folder, threads=spec.threads), folder.resolve().name
    else:
        onnx = (path / MODEL_FILE).is_file() and (path / TOKENIZER_FILE).is_file()
        load = load_onnx_folder if onnx else load_torch_model
        model = load(spec.model, spec.threads)
        name = model.card.name
    if spec.kind == "start-end":
        return ModelEncoder(model, spec.label or f"start-end:{name}", "start-end")
    return ModelEncoder(model, spec.label or name)


class TruncatedEncoder(TextEncoder):
    """``truncate-N:MODEL``: vectors shortened to N dimensions, as an index shortens them."""

    representation = "mean"

    def __init__(self, spec: EncoderSpec) -> None:
        whole, truncate_dim = open_model(spec), int(spec.kind.rpartition("-")[2])
        projection = whole.spans.projection
        if projection is None:
            raise InputError(
                f"encoder {whole.name!r} has no projection.npy; export it with slice-os"
            )
        if not 0 < truncate_dim <= len(projection):
            raise InputError(
                f"encoder {whole.name!r} has {len(projection)} dimensions; "
                f"give 1 to {len(projection)}"
            )
        self._whole = whole
        self._projection: FloatArray = projection[:truncate_dim]
        self.name = f"{whole.name}, {truncate_dim} dimensions"
        digest = hashlib.sha256(self._projection.tobytes()).hexdigest()[:16]
        # Caches keep vectors under this key, so its wording stays.
        self.identity = f"{whole.identity}-axes-{truncate_dim}-{digest}"

    @property
    def cost(self) -> Cost:
        return self._whole.cost

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        return self._shorten(self._whole.phrases(texts))

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        return self._shorten(self._whole.sentences(texts))

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        for aligned, vectors in self._whole.tokens(texts):
            yield aligned, self._shorten(vectors)

    def _shorten(self, vectors: FloatArray) -> FloatArray:
        return np.asarray(vectors @ self._projection.T, dtype=np.float32)

"""Texts to token vectors while training: any Hugging Face encoder, gradients in parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from slice_os.encoder.alignment import AlignedText, Aligner
from slice_os.encoder.token_model import pad, plan_batches
from slice_os.errors import InputError
from slice_os.training.backend import torch
from slice_os.training.span_tensors import States

_CPU_PIECES = 1024
_GPU_PIECES = 65_536


class Student(Protocol):
    """The encoder that an objective trains; see `TrainingEncoder`."""

    def align(self, text: str) -> AlignedText:
        """A text's words and pieces."""

    def encode(self, texts: Sequence[str]) -> States:
        """Token vectors of texts, padded to the longest."""


class TrainingEncoder:
    """A network and its tokenizer: texts in, `States` out.

    Texts run through the network in batches of similar length. If ``chunk`` is set, gradients
    are cached (Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited
    Setup", 2021): batches of that many word pieces run without keeping activations, the loss
    is differentiated down to the token vectors, and `replay` runs each batch once more to carry
    those gradients into the weights. The chunk then bounds memory, and the gradient is the same
    as without.

    The longest text in word pieces does not count special tokens.
    """

    def __init__(self, network: Any, tokenizer: Any, *, max_pieces: int, chunk: int = 0) -> None:
        self.network = network
        self._aligner = Aligner(tokenizer.backend_tokenizer)
        self._max_pieces = max_pieces
        self._chunk = chunk
        self._pending: list[tuple[Any, Any, Any, Any]] = []
        self.align = lru_cache(maxsize=20_000)(self._align)

    def _align(self, text: str) -> AlignedText:
        """A text's words and pieces; `InputError` if it has no word or too many pieces."""
        aligned = self._aligner.align(text)
        if not len(aligned.words):
            raise InputError(f"training text without a word: {text[:60]!r}; remove it")
        if len(aligned.piece_ids) > self._max_pieces:
            raise InputError(
                f"training text of {len(aligned.piece_ids)} word pieces, more than "
                f"{self._max_pieces}: {text[:60]!r}…; cut it, or raise max_pieces"
            )
        return aligned

    def fits(self, text: str) -> bool:
        """Whether a text has a word and is no longer than the encoder takes."""
        try:
            self.align(text)
        except InputError:
            return False
        return True

    def encode(self, texts: Sequence[str]) -> States:
        """Token vectors of texts, padded to the longest."""
        aligned = [self.align(text) for text in texts]
        chunk = self._chunk if torch.is_grad_enabled() else 0
        on_gpu = self.network.device.type == "cuda"
        budget = chunk or (_GPU_PIECES if on_gpu else _CPU_PIECES)
        lengths = [len(text.piece_ids) for text in aligned]
        batches = plan_batches(lengths, budget)
        longest = max(lengths)
        prefix, suffix = self._aligner.prefix, self._aligner.suffix
        parts = []
        for batch in batches:
            rows = [[*prefix, *aligned[index].piece_ids.tolist(), *suffix] for index in batch]
            ids, mask = (torch.from_numpy(array).to(self.network.device) for array in pad(rows))
            vectors = (self._forward_cached if chunk else self._forward)(ids, mask)
            parts.append(torch.nn.functional.pad(vectors, (0, 0, 0, longest - vectors.shape[1])))
        places = torch.tensor([index for batch in batches for index in batch])
        order = places.argsort().to(self.network.device)
        return self._states(torch.cat(parts)[order], aligned)

    def replay(self) -> None:
        """Carry cached gradients into the weights; call it after ``backward``."""
        for ids, mask, vectors, randomness in self._pending:
            if vectors.grad is None:
                continue
            on_gpu = vectors.device.type == "cuda"
            with torch.random.fork_rng(devices=[vectors.device.index or 0] if on_gpu else []):
                torch.set_rng_state(randomness[0])
                if on_gpu:
                    torch.cuda.set_rng_state(randomness[1], vectors.device)
                self._forward(ids, mask).backward(vectors.grad)
        self._pending.clear()

    def _forward_cached(self, ids: Any, mask: Any) -> Any:
        on_gpu = ids.device.type == "cuda"
        gpu_state = torch.cuda.get_rng_state(ids.device) if on_gpu else None
        randomness = torch.get_rng_state(), gpu_state
        with torch.no_grad():
            vectors = self._forward(ids, mask)
        vectors.requires_grad_()
        self._pending.append((ids, mask, vectors, randomness))
        return vectors

    def _forward(self, ids: Any, mask: Any) -> Any:
        hidden = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
        before, after = len(self._aligner.prefix), len(self._aligner.suffix)
        kept = mask[:, before + after :]
        # autocast may return half precision; cosines are computed in single
        inner = hidden[:, before : before + kept.shape[1]].float()
        return inner * kept[:, :, None]

    def _states(self, vectors: Any, aligned: Sequence[AlignedText]) -> States:
        edges = np.zeros((2, len(aligned), max(len(text.words) for text in aligned)), np.int64)
        for index, text in enumerate(aligned):
            edges[:, index, : len(text.words)] = text.words[:, 2:].T
        first, last = torch.from_numpy(edges).to(vectors.device)
        counts = [[len(text.piece_ids), len(text.words)] for text in aligned]
        n_pieces, n_words = torch.tensor(counts, device=vectors.device).T
        return States(vectors, n_pieces, first, last, n_words)

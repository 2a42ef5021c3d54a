"""The verifier: a small model that reads a phrase and a hit in its sentence together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.engines import OnnxRuntimeEngine
from slice_os.encoder.model_folder import MODEL_FILE, TOKENIZER_FILE, content_id
from slice_os.errors import ModelError
from slice_os.verifier.card import read_verifier_card, verifier_folder
from slice_os.verifier.claims import Claim, Verdict
from slice_os.verifier.inputs import ClaimInputs


class CrossEncoderVerifier:
    """Says how likely the words of a hit say its phrase.

    Args:
        model: a verifier folder, or None for the bundled one.
        providers: onnxruntime execution providers, first choice first; CPU if None.
        threads: CPU threads; all usable cores if None.

    Attributes:
        card: describes the verifier.
        folder: where its files are.

    Raises:
        ModelError: if the folder holds no verifier, or its files do not match its card.
        EngineError: if the provider does not load.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        self.folder = verifier_folder(model)
        self.card = read_verifier_card(self.folder)
        if content_id(self.folder) != self.card.verifier_id:
            raise ModelError(f"{self.folder}: model or tokenizer changed since export")
        self._inputs = ClaimInputs(Aligner(self.folder / TOKENIZER_FILE), self.card.max_length)
        self._engine = OnnxRuntimeEngine(self.folder / MODEL_FILE, providers, threads)

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim; none depends on the others."""
        odds = np.clip(self.log_odds(claims).astype(np.float64), -50, 50)
        return [Verdict(probability) for probability in (1 / (1 + np.exp(-odds))).tolist()]

    def log_odds(self, claims: Sequence[Claim]) -> FloatArray:
        """``(n_claims,)`` log-odds that the claims hold."""
        workers = self._engine.workers
        with ThreadPoolExecutor(workers, thread_name_prefix="verify") as executor:
            found = list(executor.map(self._one, claims))
        return np.array(found, dtype=np.float32)

    def _one(self, claim: Claim) -> float:
        ids, types = self._inputs.rows([claim])
        mask: IntArray = np.ones_like(ids)
        result = self._engine.run(ids, mask, types)
        if result.shape != (1, 1):
            raise ModelError(f"{self.folder}: returns {result.shape}, not (1, 1) log-odds")
        return float(result[0, 0])

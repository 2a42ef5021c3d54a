"""The bundled texts as a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from slice_os.arrays import IntArray
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.token_model import pad

Feeds: TypeAlias = dict[str, npt.NDArray[np.int64]]

PARITY_TEXT = "parity_text.txt"
CALIBRATION_TEXT = "calibration_text.txt"


@dataclass(frozen=True, slots=True)
class Sample:
    """A passage as the model reads it.

    Attributes:
        ids: ``(n,)`` word pieces, special tokens included.
        words: ``(n_words, 2)`` first piece of each word and one past its last, indices of ``ids``.
    """

    ids: IntArray
    words: IntArray


def bundled_samples(name: str, aligner: Aligner, max_length: int) -> list[Sample]:
    """The passages of a bundled text, and the whole text, each cut to ``max_length`` pieces."""
    passages = bundled_passages(name)
    samples = []
    for text in (*passages, "\n\n".join(passages)):
        aligned = aligner.align(text)
        kept = aligned.piece_ids[: max_length - len(aligner.prefix) - len(aligner.suffix)]
        pieces = aligned.words[:, 2:]
        ids = np.array([*aligner.prefix, *kept, *aligner.suffix], dtype=np.int64)
        words = pieces[pieces[:, 1] <= len(kept)] + len(aligner.prefix)
        samples.append(Sample(ids, words))
    return samples


def bundled_passages(name: str) -> list[str]:
    """The passages of a bundled text."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
    return text.split("\n\n")


def feeds(samples: Sequence[Sample]) -> Feeds:
    """Inputs for a batch, each ``(batch, sequence)``, padded on the right."""
    ids, mask = pad([sample.ids for sample in samples])
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}

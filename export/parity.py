"""Parity: how closely an exported model agrees with torch on the bundled texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.token_model import pad
from slice_os.errors import ModelError

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


Runner: TypeAlias = Callable[[Feeds], FloatArray]

MAX_WORDS = 20
TOLERANCE = 1e-5
SPAN_COSINE_FLOOR = {"fp16": 0.999, "int8": 0.95}
_PADDED_BATCH = 4


@dataclass(frozen=True, slots=True)
class Agreement:
    """Closeness of the exported model's vectors to torch's; padding is ignored.

    Attributes:
        max_abs: largest absolute difference of any component of any token vector.
        token_cosine: mean cosine over the token vectors.
        span_cosine: mean cosine over all spans of 1 to 20 words.
        span_cosine_min: cosine of the worst such span.
    """

    max_abs: float
    token_cosine: float
    span_cosine: float
    span_cosine_min: float


@dataclass(frozen=True, slots=True)
class ParityReport:
    """An exported model compared with torch in fp32 on the bundled English text.

    Attributes:
        tokens: word pieces compared, special tokens included.
        spans: spans of 1 to 20 words compared.
        max_abs_limit: the largest ``max_abs`` allowed; only for fp32.
        span_cosine_limit: the smallest ``span_cosine`` allowed; not for fp32.
        unpadded: each passage run alone.
        padded: passages run in batches, padded to the longest.
    """

    precision: str
    passages: int
    tokens: int
    spans: int
    max_abs_limit: float | None
    span_cosine_limit: float | None
    unpadded: Agreement
    padded: Agreement

    def to_json(self) -> bytes:
        """The report as indented JSON."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def require(self) -> None:
        """Raise `ModelError` if either run is beyond the limits."""
        for run, agreement in (("unpadded", self.unpadded), ("padded", self.padded)):
            # Negated, so that a NaN fails.
            if self.max_abs_limit is not None and not agreement.max_abs <= self.max_abs_limit:
                raise ModelError(
                    f"no parity: the {self.precision} model differs from torch by "
                    f"{agreement.max_abs:.1e} on {run} text ({self.max_abs_limit:.1e} allowed); "
                    "nothing was written"
                )
            floor = self.span_cosine_limit
            if floor is not None and not agreement.span_cosine >= floor:
                raise ModelError(
                    f"no parity: the {self.precision} model's spans have cosine "
                    f"{agreement.span_cosine:.4f} to torch on {run} text ({floor} required); "
                    "nothing was written, try a higher precision"
                )


def compare(
    precision: str, samples: Sequence[Sample], reference: Runner, exported: Runner
) -> ParityReport:
    """Run both models on the same samples, one by one and in padded batches.

    In fp32 the limit is 1e-5, or, since rounding grows with the numbers, 1e-5 times the root
    mean square of the vectors' components if that exceeds 1.
    """
    alone = [[sample] for sample in samples]
    batches = [
        samples[start : start + _PADDED_BATCH] for start in range(0, len(samples), _PADDED_BATCH)
    ]
    expected = _vectors(reference, alone)
    size = float(np.sqrt(np.mean(np.square(np.concatenate(expected)))))
    return ParityReport(
        precision=precision,
        passages=len(samples),
        tokens=sum(len(sample.ids) for sample in samples),
        spans=sum(
            len(sample.words) - shorter
            for sample in samples
            for shorter in range(min(MAX_WORDS, len(sample.words)))
        ),
        max_abs_limit=TOLERANCE * max(1.0, size) if precision == "fp32" else None,
        span_cosine_limit=SPAN_COSINE_FLOOR.get(precision),
        unpadded=_agreement(samples, expected, _vectors(exported, alone)),
        padded=_agreement(samples, _vectors(reference, batches), _vectors(exported, batches)),
    )


def _vectors(run: Runner, batches: Iterable[Sequence[Sample]]) -> list[FloatArray]:
    return [
        row[: len(sample.ids)]
        for batch in batches
        for row, sample in zip(run(feeds(batch)), batch, strict=True)
    ]


def _agreement(
    samples: Sequence[Sample], expected: list[FloatArray], found: list[FloatArray]
) -> Agreement:
    pairs = list(zip(expected, found, strict=True))
    tokens = np.concatenate([_cosines(a, b) for a, b in pairs])
    spans = np.concatenate(
        [
            _cosines(span_sums(a, sample.words), span_sums(b, sample.words))
            for sample, (a, b) in zip(samples, pairs, strict=True)
        ]
    )
    return Agreement(
        max_abs=max(float(np.abs(a - b).max()) for a, b in pairs),
        token_cosine=float(tokens.mean()),
        span_cosine=float(spans.mean()),
        span_cosine_min=float(spans.min()),
    )


def span_sums(vectors: FloatArray, words: IntArray) -> npt.NDArray[np.float64]:
    """Sums over every span of 1 to 20 words; their cosines are those of the means."""
    prefix = np.vstack([np.zeros(vectors.shape[1]), np.cumsum(vectors, axis=0, dtype=np.float64)])
    first, last = words.T
    return np.concatenate(
        [
            prefix[last[length - 1 :]] - prefix[first[: len(first) - length + 1]]
            for length in range(1, min(MAX_WORDS, len(words)) + 1)
        ]
        or [np.empty((0, vectors.shape[1]))]
    )


def _cosines(a: npt.NDArray[np.floating], b: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines: npt.NDArray[np.float64] = np.einsum("ij,ij->i", a, b, dtype=np.float64) / norms
    return cosines

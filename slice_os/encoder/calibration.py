"""Calibration: the probability that a hit says the phrase, from its cosine.

A logistic map (Platt 1999) of the square of the cosine's inverse hyperbolic tangent (Fisher's z),
adjusted by the numbers of words: a long phrase is matched by chance less often, and a span much
longer or shorter than the phrase is less often right at the same cosine. For phrases and spans of
given lengths it never decreases with the cosine.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from slice_os.arrays import Float64Array
from slice_os.encoder.model_folder import CALIBRATION_FILE, bundled_ids, read_json
from slice_os.errors import InputError, ModelError, imported
from slice_os.records import between, record

# Cosines of identical texts are 1 up to rounding; above this, differences mean nothing.
HIGHEST_COSINE = 0.9999
FEW_LABELS = 10
LARGEST_WEIGHT = 10**9
_Weight: TypeAlias = Annotated[float, between(-LARGEST_WEIGHT, LARGEST_WEIGHT)]
_Number: TypeAlias = Annotated[int, between(-LARGEST_WEIGHT, LARGEST_WEIGHT)]
_CHECKSUM = "checksum"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The weights of the log-odds that a hit is right.

    Attributes:
        encoder_id: the encoder whose cosines it takes.
        intercept: constant.
        closeness: weight of artanh(cosine)², which is 0 for negative cosines; 0 or more.
        phrase_words: weight of ln(words of the phrase).
        word_ratio: weight of |ln(words of the span / words of the phrase)|.
        hits: number of labelled hits that it was fitted to.
        right: number of them that were right.
        provenance: description of the hits, for people.
    """

    encoder_id: str
    intercept: _Weight
    closeness: Annotated[float, between(0, LARGEST_WEIGHT)]
    phrase_words: _Weight
    word_ratio: _Weight
    hits: _Number
    right: _Number
    provenance: str

    @property
    def english(self) -> bool:
        """Whether the hits were in English alone, as those of the bundled models."""
        return self.encoder_id in bundled_ids()

    def probabilities(
        self, cosines: npt.ArrayLike, phrase_words: npt.ArrayLike, span_words: npt.ArrayLike
    ) -> Float64Array:
        """The ``(n,)`` probabilities that hits are right.

        Cosines are ``(n,)``, each of a phrase and a span; numbers of words, too, or one number,
        from 1.
        """
        weights = [self.intercept, self.closeness, self.phrase_words, self.word_ratio]
        odds = _features(cosines, phrase_words, span_words) @ np.array(weights)
        probabilities: Float64Array = 1 / (1 + np.exp(-odds))
        return probabilities

    def save(self, path: Path) -> None:
        """Write the calibration as indented JSON, with its checksum."""
        content = {**asdict(self), _CHECKSUM: _checksum(asdict(self))}
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        path.write_bytes(orjson.dumps(content, option=options))


def read_calibration(folder: Path, encoder_id: str) -> Calibration | None:
    """The calibration of a model folder; None if it has none.

    Raises a `ModelError` if the file is not a calibration, changed since it was fitted, or belongs
    to another encoder.
    """
    path = folder / CALIBRATION_FILE
    if not path.is_file():
        return None
    raw = read_json(path)
    checksum = raw.pop(_CHECKSUM, None)
    try:
        found = record(Calibration, raw)
    except InputError as error:
        raise ModelError(f"{path}: {error}; fit it again or delete it") from None
    if found.encoder_id != encoder_id:
        raise ModelError(
            f"{path}: belongs to encoder {found.encoder_id}, not {encoder_id}; "
            "fit it again or delete it"
        )
    if checksum is not None and checksum != _checksum(raw):
        raise ModelError(f"{path}: changed since it was fitted; fit it again or delete it")
    return found


def softened(right: npt.ArrayLike) -> Float64Array:
    """Targets near 1 and 0 for labels, as in Platt (1999, section 2.2).

    Hits that can be separated without error then do not lead to infinite weights.

    Raises an `InputError` if fewer than 10 hits are right, or fewer than 10 are wrong.
    """
    labels = np.asarray(right, dtype=bool)
    n_right = int(labels.sum())
    n_wrong = len(labels) - n_right
    if min(n_right, n_wrong) < FEW_LABELS:
        raise InputError(
            f"{n_right} right and {n_wrong} wrong hits are too few to calibrate on; "
            f"label {FEW_LABELS} or more of each"
        )
    return np.where(labels, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))


def fit_calibration(
    encoder_id: str,
    cosines: npt.ArrayLike,
    phrase_words: npt.ArrayLike,
    span_words: npt.ArrayLike,
    right: npt.ArrayLike,
    provenance: str,
) -> Calibration:
    """Fit a calibration to ``(n,)`` labelled hits by maximum likelihood; labels are `softened`.

    Each hit has the cosine of a phrase and a span by an encoder, the numbers of their words, and
    whether it is right. The provenance describes the hits, for people.

    Raises an `InputError` if fewer than 10 hits are right, or fewer than 10 are wrong, and a
    `MissingExtraError` without SciPy.
    """
    minimize = imported("scipy.optimize", "fitting a calibration", "eval").minimize
    targets = softened(right)
    features = _features(cosines, phrase_words, span_words)

    def loss(weights: Float64Array) -> tuple[float, Float64Array]:
        odds = features @ weights
        gradient: Float64Array = features.T @ (1 / (1 + np.exp(-odds)) - targets) / len(odds)
        return float(np.mean(np.logaddexp(0, odds) - targets * odds)), gradient

    bounds = [(None, None), (0, None), (None, None), (None, None)]
    best = minimize(loss, np.zeros(4), jac=True, bounds=bounds, method="L-BFGS-B").x
    constant, closeness, by_phrase, by_ratio = (round(float(weight), 6) for weight in best)
    hits = len(targets), int(np.asarray(right, dtype=bool).sum())
    return Calibration(encoder_id, constant, closeness, by_phrase, by_ratio, *hits, provenance)


def _checksum(content: dict[str, Any]) -> str:
    packed = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(packed).hexdigest()[:16]


def _features(
    cosines: npt.ArrayLike, phrase_words: npt.ArrayLike, span_words: npt.ArrayLike
) -> Float64Array:
    closeness = np.arctanh(np.clip(cosines, 0, HIGHEST_COSINE)) ** 2
    phrase = np.log(np.asarray(phrase_words, dtype=np.float64))
    ratio = np.abs(np.log(np.asarray(span_words, dtype=np.float64)) - phrase)
    features = np.ones((*np.broadcast(closeness, phrase, ratio).shape, 4))
    features[..., 1], features[..., 2], features[..., 3] = closeness, phrase, ratio
    return features

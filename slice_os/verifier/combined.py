"""Verifiers and the cosine combined: one probability of what each of them says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import exp, isfinite, log
from pathlib import Path
from typing import Any

import orjson

from slice_os.errors import ModelError
from slice_os.model import read_json
from slice_os.verifier.claims import Claim, Verdict, Verifier

COMBINATION = Path(__file__).with_name("combination.json")
_NEAREST = 1e-6
_LARGEST_WEIGHT = 1e6


@dataclass(frozen=True, slots=True)
class Combination:
    """Weights of a map from what verifiers and the cosine say to the probability of a hit.

    A hit says its phrase if its wording says nothing else, and if it is about the same. The
    probability is the product of these two, each logistic. So no cosine, however high, makes up
    for a denial.

    Attributes:
        encoder_id: the encoder whose hits they were fitted to.
        parts: names of the verifiers.
        intercept: constant of the wording.
        weights: of the log-odds of each verifier; none is negative.
        prior_intercept: constant of the cosine.
        prior: weight of the log-odds of what the cosine gives; not negative.
        alone_intercept: constant, where the cosine gives no probability.
        alone_weights: of the log-odds of each verifier there.
        hits: number of labelled hits that they were fitted to.
        fitted_on: what these hits were, for people.
    """

    encoder_id: str
    parts: tuple[str, ...]
    intercept: float
    weights: tuple[float, ...]
    prior_intercept: float
    prior: float
    alone_intercept: float
    alone_weights: tuple[float, ...]
    hits: int
    fitted_on: str

    def __post_init__(self) -> None:
        weights = (*self.weights, self.prior, *self.alone_weights)
        constants = (self.intercept, self.prior_intercept, self.alone_intercept)
        for number in (*weights, *constants):
            if not (isfinite(number) and abs(number) <= _LARGEST_WEIGHT):
                raise ModelError(f"a weight is {number}, which is out of range")
        if min(weights) < 0:
            raise ModelError("a weight is negative")
        if not len(self.parts) == len(self.weights) == len(self.alone_weights):
            raise ModelError(f"it needs one weight for each of {', '.join(self.parts)}")

    def probability(self, said: Sequence[float], prior: float | None) -> float:
        """The probability that a hit says its phrase.

        Args:
            said: the probability that each verifier gives.
            prior: the one that the cosine gives; None if there is none.
        """
        odds = list(map(logit, said))
        if prior is None:
            return _logistic(self.alone_intercept, self.alone_weights, odds)
        wording = _logistic(self.intercept, self.weights, odds)
        return wording * _logistic(self.prior_intercept, (self.prior,), [logit(prior)])

    def save(self, path: Path) -> None:
        """Write the weights as indented JSON."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        path.write_bytes(orjson.dumps(asdict(self), option=options))


def logit(probability: float) -> float:
    """The log-odds of a probability, which is kept a little away from 0 and 1."""
    kept = min(max(probability, _NEAREST), 1 - _NEAREST)
    return log(kept / (1 - kept))


def _logistic(intercept: float, weights: Sequence[float], odds: Sequence[float]) -> float:
    total = intercept + sum(weight * one for weight, one in zip(weights, odds, strict=True))
    return 1 / (1 + exp(-max(-50.0, min(50.0, total))))


def read_combination(path: Path = COMBINATION) -> Combination:
    """Read weights; without a path, the bundled ones.

    Raises:
        ModelError: if the file is missing or holds something else.
    """
    raw: dict[str, Any] = read_json(path)
    expected = [field.name for field in fields(Combination)]
    if sorted(raw) != sorted(expected):
        raise ModelError(f"{path}: expected the fields {', '.join(expected)}; fit it again")
    try:
        for name in ("parts", "weights", "alone_weights"):
            raw[name] = tuple(raw[name])
        return Combination(**raw)
    except TypeError as error:
        raise ModelError(f"{path}: a value is of another type ({error}); fit it again") from None
    except ModelError as error:
        raise ModelError(f"{path}: {error}; fit it again") from None


class CombinedVerifier:
    """Several verifiers and the cosine as one verifier; reasons are those that any of them gives.

    Args:
        parts: the verifiers, by the names in the combination.
        combination: how their log-odds make a probability.
    """

    def __init__(self, parts: Mapping[str, Verifier], combination: Combination) -> None:
        self._parts = [parts[name] for name in combination.parts]
        self._combination = combination

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim, in order."""
        verdicts = zip(*(part.check(claims) for part in self._parts), strict=True)
        return [
            Verdict(
                self._combination.probability([one.probability for one in said], claim.prior),
                tuple(dict.fromkeys(reason for one in said for reason in one.reasons)),
            )
            for said, claim in zip(verdicts, claims, strict=True)
        ]

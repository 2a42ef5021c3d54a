"""What a search may choose, within which bounds; light to import, so that `--help` is quick."""

from __future__ import annotations

import pkgutil
from numbers import Real
from typing import TYPE_CHECKING

from slice_os.errors import InputError

if TYPE_CHECKING:
    from slice_os.query.fusion import Fusion

NUM_CANDIDATES = 400
MAX_CANDIDATES = 10_000
MAX_EXPORTED_CANDIDATES = 5_000

BY_SCORE, BY_PROBABILITY = "score", "probability"
ORDERS = (BY_SCORE, BY_PROBABILITY)
# Where the probability decides, it does so among this many hits by score.
REFINED = 50
# Where the probability decides, mining looks at hits from this cosine on.
LOW_THRESHOLD = 0.45
# Least score of the topic of a whole text: the mean of two thresholds, each chosen on the training
# parts of other sets; .253 for Banking77 and .266 for CLINC150, "with regression, nearest topic"
# without labels in docs/evaluation.md.
UTTERANCE_THRESHOLD = 0.259

# A new fusion is a function and a line here.
FUSIONS = {
    "convex": "slice_os.query.fusion:convex",
    "rrf": "slice_os.query.fusion:reciprocal_rank",
    "cosine": "slice_os.query.fusion:cosine_only",
}
DEFAULT_FUSION = "convex"
# Not a function: the store itself fuses; see `slice_os.stores.protocol.FusingStore`.
SERVER = "server"
FUSION_NAMES = (*FUSIONS, SERVER)


SPAN, CLAUSE, SENTENCE, TURN = UNITS = ("span", "clause", "sentence", "turn")


def check_unit(unit: str) -> None:
    """Refuse what no hit can be as wide as.

    Raises:
        InputError: saying what there is.
    """
    if unit not in UNITS:
        raise InputError(f"no unit {unit!r}; there are {', '.join(UNITS)}")


def check_threshold(threshold: object) -> None:
    """Refuse thresholds that no cosine can be compared with.

    Raises:
        InputError: saying what to give.
    """
    number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    # NaN is not equal to itself.
    if not number or threshold != threshold:
        raise InputError(f"threshold {threshold!r}: give a number from -1 to 1, such as 0.6")


def check_probability(probability: object) -> None:
    """Refuse what no probability can be compared with.

    Raises:
        InputError: saying what to give.
    """
    number = isinstance(probability, Real) and not isinstance(probability, bool)
    if not number or not 0 <= float(probability) <= 1:  # type: ignore[arg-type]
        raise InputError(f"min_probability {probability!r}: give a number from 0 to 1, such as 0.5")


def load_fusion(name: str) -> Fusion:
    """The fusion of that name, other than `SERVER`.

    Raises:
        InputError: if there is none.
    """
    if name not in FUSIONS:
        raise InputError(f"no fusion {name!r}; there are {', '.join(FUSION_NAMES)}")
    fusion: Fusion = pkgutil.resolve_name(FUSIONS[name])
    return fusion

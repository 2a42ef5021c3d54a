"""The harnesses by name, and the one function that runs any of them."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from slice_os.errors import InputError, MissingExtraError
from slice_os.evaluation.encoders.cached_encoder import CachedEncoder
from slice_os.evaluation.encoders.opening import open_encoder
from slice_os.evaluation.encoders.text_encoder import DEFAULT, TextEncoder
from slice_os.evaluation.encoders.vector_cache import VectorCache
from slice_os.evaluation.harness import Harness, Progress, quiet
from slice_os.evaluation.results import Evaluation

# To add a harness, add a module and a line here.
HARNESSES = {
    "sts-b-context": "slice_os.evaluation.sts_b_context.harness:HARNESS",
    "pic-ps": "slice_os.evaluation.pic.similarity:HARNESS",
    "pic-pr": "slice_os.evaluation.pic.retrieval:PR",
    "pic-psd": "slice_os.evaluation.pic.retrieval:PSD",
    "pcpe": "slice_os.evaluation.pic.pcpe:HARNESS",
    "span-retrieval": "slice_os.evaluation.span_retrieval.harness:HARNESS",
    "phrase-similarity": "slice_os.evaluation.phrases.harness:HARNESS",
    "index": "slice_os.evaluation.index_level:HARNESS",
    "calibration": "slice_os.evaluation.calibration:HARNESS",
    "topics": "slice_os.evaluation.topics.harness:HARNESS",
    "contrasts": "slice_os.evaluation.contrasts:HARNESS",
}
EXTRA_PACKAGES = ("scipy", "ir_measures")


def evaluate(
    name: str,
    data: str | Path,
    encoders: str | TextEncoder | Sequence[str | TextEncoder] = (),
    *,
    cache: VectorCache | str | Path | None = None,
    threads: int | None = None,
    progress: Progress = quiet,
    **options: object,
) -> Evaluation:
    """Run a harness: ``evaluate("sts-b-context", path, ["slice-mini"])``.

    Args:
        name: one of `HARNESSES`.
        data: the data; ``slice-os eval NAME --help`` says what the harness takes.
        encoders: encoders to measure, as specifications (see `open_encoder`) or opened ones;
            the bundled model for none.
        cache: folder to keep vectors in, so that the next run need not encode them again;
            None keeps none.
        threads: CPU threads of the encoders that are opened here; all usable cores for None.
        progress: reports what is being done.
        options: the harness's options by name; ``load_harness(name).options`` lists them.

    Returns:
        The result: rows of figures, which print as a table, and what they were measured on.

    Raises:
        MissingExtraError: if the extra ``eval`` is not installed, or a package that the harness
            or an encoder needs.
        InputError: on an unknown harness or option, or data that cannot be used.
        ModelError: if an encoder cannot be opened.
    """
    harness = load_harness(name)
    accepted = harness.accept(options)
    if not all(map(find_spec, EXTRA_PACKAGES)):
        raise MissingExtraError("slice-os eval", "eval")
    if cache is not None and not isinstance(cache, VectorCache):
        cache = VectorCache(Path(cache))
    opened = _open(encoders, threads, cache)
    for option in harness.options:
        if option.cached and cache is not None and accepted.get(option.name) is None:
            accepted[option.name] = cache.stores
    return harness.run(Path(data), opened, progress=progress, **accepted)


def load_harness(name: str) -> Harness:
    """The harness of that name, with its options.

    Raises:
        InputError: if there is none.
    """
    if name not in HARNESSES:
        raise InputError(f"no harness {name!r}; there are {', '.join(HARNESSES)}")
    harness: Harness = pkgutil.resolve_name(HARNESSES[name])
    return harness


def _open(
    encoders: str | TextEncoder | Sequence[str | TextEncoder],
    threads: int | None,
    cache: VectorCache | None,
) -> list[TextEncoder]:
    if isinstance(encoders, str) or not isinstance(encoders, Sequence):
        encoders = [encoders]
    opened = [
        open_encoder(one, threads) if isinstance(one, str) else one for one in encoders or [DEFAULT]
    ]
    names = [encoder.name for encoder in opened]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two encoders are called {name!r}; name them: NAME=ENCODER")
    if cache is None:
        return opened
    return [CachedEncoder(encoder, cache) for encoder in opened]

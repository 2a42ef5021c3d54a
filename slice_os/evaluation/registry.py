"""The encoders by kind, the harnesses by name, and the one function that runs any of them."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from slice_os.errors import InputError, MissingExtraError
from slice_os.evaluation.encoders.text_encoder import DEFAULT, EncoderSpec, TextEncoder
from slice_os.evaluation.encoders.vector_cache import CachedEncoder, VectorCache
from slice_os.evaluation.harness import Harness, Progress, quiet
from slice_os.evaluation.results import Evaluation

_FOLDER = "slice_os.evaluation.encoders"
_PLAIN = f"{_FOLDER}.model_encoder:open_model"
# A new kind is one file and one line here: a pattern of what comes before the colon, and the
# class or function that opens it.
KINDS = {
    r"glove": f"{_FOLDER}.word_vectors:GloveEncoder",
    r"pcpe": f"{_FOLDER}.causal:open_causal",
    r"start-end": _PLAIN,
    r"truncate-\d+": f"{_FOLDER}.model_encoder:TruncatedEncoder",
}
FORMS = (
    "a bundled name, a model or ONNX folder, a Hugging Face name or folder, glove:FILE, "
    "start-end:MODEL, truncate-N:MODEL or pcpe:MODEL[:PROMPT]"
)


def open_encoder(spec: str | None = None, threads: int | None = None) -> TextEncoder:
    """Open the encoder that a specification names.

    Args:
        spec: None or ``default`` for the bundled model; the name of a bundled model or a model
            folder; a folder with ``model.onnx`` and ``tokenizer.json``; a Hugging Face name or
            folder; ``glove:FILE`` (text vectors); ``start-end:MODEL`` (spans as in
            DensePhrases); ``truncate-N:MODEL`` (the first N dimensions of an exported model's
            projection); ``pcpe:MODEL[:PROMPT]`` (a causal language model). ``NAME=`` before any
            of these is its name in tables.
        threads: CPU threads; all usable cores if None.

    Raises:
        ModelError: if there is no such model, or it cannot be loaded.
        InputError: if a file of vectors is missing, or nothing follows the colon.
        MissingExtraError: if the kind of model needs packages that are not installed.
    """
    label, text = None, spec or DEFAULT
    # An existing path that has an equals sign stays whole.
    labelled = re.fullmatch(r"([\w.+-]+)=(.+)", text)
    if labelled and not Path(text).exists():
        label, text = labelled.groups()
    kind, colon, model = text.partition(":")
    if colon and not model:
        raise InputError(f"encoder {text!r}: nothing after the colon; give {FORMS}")
    openers = (open_ for pattern, open_ in KINDS.items() if colon and re.fullmatch(pattern, kind))
    opener = next(openers, None)
    kind, model = (kind, model) if opener else ("", text)
    encoder: TextEncoder = pkgutil.resolve_name(opener or _PLAIN)(
        EncoderSpec(label, kind, model, threads)
    )
    return encoder


# To add a harness, add a module and a line here.
HARNESSES = {
    "sts-b-context": "slice_os.evaluation.sts_b_context.harness:HARNESS",
    "pic-ps": "slice_os.evaluation.pic.similarity:HARNESS",
    "pic-pr": "slice_os.evaluation.pic.retrieval:PR",
    "pic-psd": "slice_os.evaluation.pic.retrieval:PSD",
    "pcpe": "slice_os.evaluation.pic.similarity:PCPE",
    "span-retrieval": "slice_os.evaluation.span_retrieval.harness:HARNESS",
    "phrase-similarity": "slice_os.evaluation.phrase_similarity:HARNESS",
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
        data: ``slice-os eval NAME --help`` says what the harness takes.
        encoders: encoders to measure, as specifications (see `open_encoder`) or opened ones;
            the bundled model for none.
        cache: folder to keep vectors in, so that the next run need not encode them again;
            None keeps none.
        threads: CPU threads of the encoders that are opened here; all usable cores for None.
        progress: reports what is being done.
        options: the harness's options by name; ``load_harness(name).options`` lists them.

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
    if isinstance(encoders, str) or not isinstance(encoders, Sequence):
        encoders = [encoders]
    opened = [
        open_encoder(one, threads) if isinstance(one, str) else one for one in encoders or [DEFAULT]
    ]
    names = [encoder.name for encoder in opened]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two encoders are called {name!r}; name them: NAME=ENCODER")
    if cache is not None:
        opened = [CachedEncoder(encoder, cache) for encoder in opened]
    if harness.cached and cache is not None and accepted.get(harness.cached) is None:
        accepted[harness.cached] = cache.stores
    return harness.run(Path(data), opened, progress=progress, **accepted)


def load_harness(name: str) -> Harness:
    """The harness of that name, with its options; `InputError` if there is none."""
    if name not in HARNESSES:
        raise InputError(f"no harness {name!r}; there are {', '.join(HARNESSES)}")
    harness: Harness = pkgutil.resolve_name(HARNESSES[name])
    return harness

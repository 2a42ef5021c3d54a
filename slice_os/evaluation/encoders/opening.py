"""Opening encoders: from a specification to an encoder, through a table of kinds."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

from slice_os.errors import InputError
from slice_os.evaluation.encoders.text_encoder import DEFAULT, EncoderSpec, TextEncoder

_FOLDER = "slice_os.evaluation.encoders"
_PLAIN = f"{_FOLDER}.model_encoder:open_mean"
# A new kind is one file and one line here: a pattern of what comes before the colon, and the
# function that opens it.
KINDS = {
    r"glove": f"{_FOLDER}.word_vectors:open_glove",
    r"pcpe": f"{_FOLDER}.causal:open_causal",
    r"start-end": f"{_FOLDER}.model_encoder:open_start_end",
    r"truncate-\d+": f"{_FOLDER}.model_encoder:open_truncated",
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
    label, text = _split_label(spec or DEFAULT)
    kind, colon, model = text.partition(":")
    if colon and not model:
        raise InputError(f"encoder {text!r}: nothing after the colon; give {FORMS}")
    if colon:
        for pattern, opener in KINDS.items():
            if re.fullmatch(pattern, kind):
                return _open(opener, EncoderSpec(label, kind, model, threads))
    return _open(_PLAIN, EncoderSpec(label, "", text, threads))


def _open(opener: str, spec: EncoderSpec) -> TextEncoder:
    encoder: TextEncoder = pkgutil.resolve_name(opener)(spec)
    return encoder


def _split_label(text: str) -> tuple[str | None, str]:
    """Split ``LABEL=SPEC``; an existing path that has an equals sign stays whole."""
    match = re.fullmatch(r"([\w.+-]+)=(.+)", text)
    return (match[1], match[2]) if match and not Path(text).exists() else (None, text)

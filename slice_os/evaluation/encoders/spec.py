"""Encoder specifications: the text that names an encoder on the command line, in its parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """``[LABEL=][KIND:]MODEL``, parsed.

    Attributes:
        label: the name in tables; None for one made from the rest.
        kind: what comes before the colon, such as ``glove``; empty for a plain model.
        model: the rest: a name, file or folder.
        threads: CPU threads; all usable cores if None.
    """

    label: str | None
    kind: str
    model: str
    threads: int | None = None


def split_label(text: str) -> tuple[str | None, str]:
    """Split ``LABEL=SPEC``; an existing path that has an equals sign stays whole."""
    match = re.fullmatch(r"([\w.+-]+)=(.+)", text)
    return (match[1], match[2]) if match and not Path(text).exists() else (None, text)

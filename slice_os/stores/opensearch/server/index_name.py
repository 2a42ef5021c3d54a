"""Names that OpenSearch accepts for an index."""

from __future__ import annotations

import re

from slice_os.errors import InputError


def check_name(name: str) -> None:
    """Refuse names that OpenSearch does not accept for an index.

    Raises:
        InputError: saying which names are possible.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,200}", name):
        raise InputError(
            f"index name {name!r}: use lower-case letters, digits, '.', '_' and '-', and begin "
            "with a letter or digit"
        )

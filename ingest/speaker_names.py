"""The names of speakers that a text has before their words, as in ``Agent: Hello``."""

from __future__ import annotations

import numpy as np

from slice_os.arrays import BoolArray, IntArray
from slice_os.text.documents import Document


def speaker_name_words(document: Document, words: IntArray) -> BoolArray:
    """Which words only name the speaker of what follows on their line.

    Such a line begins outside every segment, has the name of the speaker of the next one, and a
    colon before it, as in ``[00:12] Agent: Hello``.

    Args:
        document: the document.
        words: ``(n, ≥ 2)`` start and end of each word in its text.

    Returns:
        ``(n,)``.
    """
    named = np.zeros(len(words), dtype=bool)
    text, before = document.text, 0
    for segment in document.segments:
        gap = text[before : segment.start].rstrip()
        line = before + gap.rfind("\n") + 1
        if segment.speaker and (line > before or before == 0):
            label = gap[line - before :]
            if label.endswith(":") and segment.speaker in label:
                first, end = np.searchsorted(words[:, 0], [line, segment.start])
                named[first:end] = True
        before = segment.end
    return named

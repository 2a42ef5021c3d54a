"""Principal axes: the directions in which span vectors differ most, for shorter index vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.export.parity import Runner, span_sums
from slice_os.export.samples import Sample, feeds
from slice_os.projection import principal_projection


def sample_projection(samples: Sequence[Sample], model: Runner) -> FloatArray:
    """An orthonormal basis of the vector space, by falling spread of unit span vectors.

    Rotating by all of it changes no cosine; keeping its first rows keeps as much of the
    cosines as that many numbers can. The vectors are not centred, since cosines are not.

    Args:
        samples: text to take spans of 1 to 20 words from.
        model: the exported model, from feeds to ``(batch, sequence, dimension)``.

    Returns:
        ``(dimension, dimension)``, an axis a row.
    """
    spans = np.concatenate([span_sums(model(feeds([s]))[0], s.words) for s in samples])
    return principal_projection(spans / np.linalg.norm(spans, axis=1, keepdims=True))

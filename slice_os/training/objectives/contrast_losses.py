"""Losses over similarities that several objectives share."""

from __future__ import annotations

from typing import Any

from slice_os.training.backend import torch


def cosent(similarities: Any, scores: Any, scale: float) -> Any:
    """CoSENT (Su, 2022): pairs with higher scores rank higher.

    log(1 + Σ e^{scale·(s_i - s_j)}) over all i, j with score_i < score_j; ties are ignored.

    Returns:
        A scalar; 0 if all scores are equal.
    """
    below = scores[:, None] < scores[None, :]
    excess = (similarities[:, None] - similarities[None, :])[below] * scale
    return torch.logsumexp(torch.cat([excess.new_zeros(1), excess]), dim=0)


def contrast(similarities: Any, scale: float) -> Any:
    """Cross-entropy of each row's first similarity; ``-inf`` stands for no candidate."""
    return (torch.logsumexp(scale * similarities, dim=1) - scale * similarities[:, 0]).mean()

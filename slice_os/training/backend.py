"""The one import of torch for training, with the install line if it is missing."""

from __future__ import annotations

from slice_os.errors import imported

torch = imported("torch", "Training", "train")

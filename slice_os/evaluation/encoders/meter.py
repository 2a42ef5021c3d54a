"""A meter around an engine: what goes through it is counted."""

from __future__ import annotations

from threading import Lock

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.engines import Engine


class MeteredEngine:
    """An engine that counts what goes through another one.

    Args:
        engine: runs the model.

    Attributes:
        passes: texts, or windows of long ones.
        tokens: their word pieces, special tokens included.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self.workers = engine.workers
        self.batch_pieces = engine.batch_pieces
        self.passes = 0
        self.tokens = 0

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One batch; see `Engine.run`."""
        with self._lock:
            self.passes += len(ids)
            self.tokens += int(mask.sum())
        return self._engine.run(ids, mask)

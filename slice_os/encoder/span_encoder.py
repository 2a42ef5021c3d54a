"""The span encoder: texts in, token vectors out; their mean over any words is that phrase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from slice_os.arrays import FloatArray, unit_rows
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.calibration import Calibration, read_calibration
from slice_os.encoder.token_model import Job, TokenModel, load_model, read_projection
from slice_os.errors import InputError
from slice_os.text.documents import check_text
from slice_os.text.words import touched_words
from slice_os.threads import PACE, checkpoint

POOL_PIECES = 8_192
_RECENT_PIECES = 1_024


@dataclass(frozen=True, slots=True)
class PieceRange:
    """Consecutive word pieces ``start:end`` of a text, which are encoded together."""

    aligned: AlignedText
    start: int
    end: int


class SpanEncoder:
    """Token vectors of texts and phrase vectors of queries, by one model.

    Args:
        model: a model folder, the name of a bundled model, None for the default one, or a
            `TokenModel` that is already loaded; the other arguments are for loading.
        providers: onnxruntime execution providers, first choice first; None for CPU.
        threads: CPU threads; None for all usable cores.

    Attributes:
        card: describes the model.
        folder: of the model's files.
        recent: the phrases of the last call of `encode_phrases`, with their token vectors, since
            a verifier reads them next; none if they were long.

    Raises a `ModelError` if the folder holds no model, or its files do not match its card, and an
    `EngineError` if the provider does not load.
    """

    def __init__(
        self,
        model: str | Path | TokenModel | None = None,
        *,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(model, TokenModel):
            model = load_model(model, providers=providers, threads=threads)
        self._model = model
        self.card = model.card
        self.folder = model.folder
        self.recent: Mapping[str, tuple[AlignedText, FloatArray]] = {}

    @cached_property
    def projection(self) -> FloatArray | None:
        """An orthonormal projection ``(dimension, dimension)``, one direction a row.

        Its first rows keep most of the cosines of phrases with spans: training found them, or
        they are the principal directions of span vectors. None if the model folder has none.

        Raises a `ModelError` if the file holds something else.
        """
        return read_projection(self.folder, self.card.dimension)

    @cached_property
    def calibration(self) -> Calibration | None:
        """The map from cosines to probabilities; None if the model folder has none.

        Raises a `ModelError` if it belongs to another encoder.
        """
        return read_calibration(self.folder, self.card.encoder_id)

    def align(self, text: str) -> AlignedText:
        """Words and word pieces of a text; see `Aligner.align`."""
        return self._model.aligner.align(text)

    def encode_ranges(self, ranges: Iterable[PieceRange]) -> Iterator[FloatArray]:
        """Yield the token vectors of piece ranges in order.

        The vectors of a range depend on its text alone, never on other ranges. Only the next few
        ranges are read and encoded ahead, while the caller works.

        Yields ``(end - start, dimension)`` float32 for each range.
        """
        executor = ThreadPoolExecutor(self._model.engine.workers, thread_name_prefix="encode")
        try:
            ahead: Callable[[], list[FloatArray]] = list
            # A device needs whole batches; a CPU encodes text by text.
            least = max(POOL_PIECES, 2 * self._model.engine.batch_pieces)
            for pool in _pools(ranges, least):
                ready, ahead = ahead, self._start(pool, executor)
                yield from ready()
            yield from ahead()
        finally:
            executor.shutdown(cancel_futures=True)

    def encode_text(self, text: str) -> tuple[AlignedText, FloatArray]:
        """Align a whole text, and return its ``(n_pieces, dimension)`` token vectors, too."""
        aligned = self.align(text)
        (vectors,) = self.encode_ranges([PieceRange(aligned, 0, len(aligned.piece_ids))])
        return aligned, vectors

    def encode(self, texts: str | Sequence[str]) -> FloatArray:
        """Unit vectors of texts, each read as a phrase, as sentence-transformers returns them.

        Returns ``(n_texts, dimension)`` float32; ``(dimension,)`` for one text.

        Raises an `InputError` if a text has no word, or has a lone surrogate.
        """
        if isinstance(texts, str):
            return self.encode([texts]).reshape(-1)
        return self._encoded(texts, self._aligned(texts))

    def encode_spans(self, text: str, spans: Iterable[tuple[int, int]]) -> FloatArray:
        """Unit vectors of spans, each seen in its text; searches compare phrases with these.

        Spans are code points ``start, end``; each takes in the words that it touches. The product
        with the vector of a phrase is the cosine of a hit of these words, apart from the rounding
        to int8 in stores; see `similarity`.

        Returns ``(n_spans, dimension)`` float32. Raises an `InputError` if a span goes beyond the
        text or has no word, or the text has a lone surrogate.
        """
        aligned, vectors = self.encode_text(text)
        ranges = [_pieces(aligned, start, end) for start, end in spans]
        return self._units([vectors[first:last].mean(axis=0) for first, last in ranges])

    @staticmethod
    def similarity(one: FloatArray, other: FloatArray) -> FloatArray:
        """Cosines of vectors with vectors, as sentence-transformers returns them.

        Either are ``(n, dimension)``, or ``(dimension,)``.

        Returns ``(n, m)`` float32; 0 for a vector that is zero.
        """
        return unit_rows(np.atleast_2d(one)) @ unit_rows(np.atleast_2d(other)).T

    def encode_phrases(self, phrases: Sequence[str]) -> FloatArray:
        """Unit vectors of phrases: the mean of the token vectors of each, normalised.

        Returns ``(n_phrases, dimension)`` float32.

        Raises an `InputError` if a phrase has no word, or none that the model knows, since its
        vector would be that of any other unknown word; or has a lone surrogate.
        """
        aligned = self._aligned(phrases)
        for phrase, text in zip(phrases, aligned, strict=True):
            if not self._model.aligner.knows(text):
                raise InputError(
                    f"the phrase {phrase!r} has no word that {self.card.name} knows; "
                    "say it in other words"
                )
        return self._encoded(phrases, aligned)

    def _aligned(self, phrases: Sequence[str]) -> list[AlignedText]:
        several = isinstance(phrases, Iterable) and not isinstance(phrases, str)
        if not several or not all(isinstance(phrase, str) for phrase in phrases):
            raise InputError(f"phrases {phrases!r}: give a list of strings")
        for phrase in phrases:
            check_text(phrase, where=f"phrase {phrase!r}")
        aligned = []
        for phrase in phrases:
            checkpoint()
            aligned.append(self.align(phrase))
            if not len(aligned[-1].words):
                raise InputError(f"the phrase {phrase!r} has no word to search for")
        return aligned

    def _encoded(self, phrases: Sequence[str], aligned: Sequence[AlignedText]) -> FloatArray:
        ranges = [PieceRange(text, 0, len(text.piece_ids)) for text in aligned]
        encoded = self.encode_ranges(ranges)
        if sum(one.end for one in ranges) <= _RECENT_PIECES:
            kept = list(encoded)
            encoded = iter(kept)
            self.recent = dict(zip(phrases, zip(aligned, kept, strict=True), strict=True))
        return self._units([vectors.mean(axis=0) for vectors in encoded])

    def _units(self, means: Sequence[FloatArray]) -> FloatArray:
        """``(n, dimension)`` unit vectors."""
        return unit_rows(np.array(means, dtype=np.float32).reshape(-1, self.card.dimension))

    def _start(
        self, pool: list[PieceRange], executor: ThreadPoolExecutor
    ) -> Callable[[], list[FloatArray]]:
        """Start encoding a pool; the returned function waits for its vectors."""
        dimension, pace = self.card.dimension, PACE.get()
        results = [np.empty((one.end - one.start, dimension), np.float32) for one in pool]
        batches = self._model.batches((one.aligned, one.start, one.end) for one in pool)
        n_prefix = len(self._model.aligner.prefix)

        def run(batch: list[Job]) -> None:
            pace()
            vectors, _ = self._model.run(batch)
            for row, (index, _, window) in enumerate(batch):
                origin, offset = pool[index].start, n_prefix - window.start
                results[index][window.keep_start - origin : window.keep_end - origin] = vectors[
                    row, window.keep_start + offset : window.keep_end + offset
                ]

        futures = [executor.submit(run, batch) for batch in batches]

        def wait() -> list[FloatArray]:
            for future in futures:
                checkpoint()
                future.result()
            return results

        return wait


def _pieces(aligned: AlignedText, start: int, end: int) -> tuple[int, int]:
    """The first piece of the words that ``start:end`` touches, and one past the last."""
    if not 0 <= start < end <= len(aligned.text):
        raise InputError(
            f"span {start}..{end}: give a start and a greater end within the text, which has "
            f"{len(aligned.text)} characters"
        )
    first, last = touched_words(aligned.words, start, end)
    if first == last:
        raise InputError(f"span {start}..{end}: {aligned.text[start:end]!r:.50} has no word")
    return int(aligned.words[first, 2]), int(aligned.words[last - 1, 3])


def _pools(ranges: Iterable[PieceRange], least: int) -> Iterator[list[PieceRange]]:
    pool: list[PieceRange] = []
    pieces = 0
    for piece_range in ranges:
        if not isinstance(piece_range, PieceRange):
            raise InputError(
                f"encode_ranges takes piece ranges, not {type(piece_range).__name__}; use "
                "encode_text for the token vectors of a text, or encode for the vectors of texts"
            )
        pool.append(piece_range)
        pieces += piece_range.end - piece_range.start
        if pieces >= least:
            yield pool
            pool, pieces = [], 0
    if pool:
        yield pool

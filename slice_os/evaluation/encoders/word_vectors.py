"""GloVe and other text vectors: one vector for each word, whatever its context."""

from __future__ import annotations

import gzip
import logging
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.datasets.files import DataSource
from slice_os.encoder.alignment import AlignedText
from slice_os.errors import InputError
from slice_os.evaluation.encoders.text_encoder import Cost, EncoderSpec, TextEncoder
from slice_os.text.words import find_words

SOURCE = DataSource(
    "text vectors, a word and its numbers a line, such as glove.840B.300d.txt",
    "https://nlp.stanford.edu/projects/glove/",
)

logger = logging.getLogger(__name__)


class GloveEncoder(TextEncoder):
    """``glove:FILE``: the mean of the vectors of a text's words, as written, then in lower case.

    A word without a vector counts as a word of a span and adds nothing to its mean. The file is
    read once for each set of new words; only their vectors are kept, and the log says how many
    have none. It may be gzipped, and begin with word2vec's first line.
    """

    representation = "mean"
    cost = Cost()

    def __init__(self, spec: EncoderSpec) -> None:
        file = Path(spec.model)
        if not file.is_file():
            raise SOURCE.missing(file)
        status = file.stat()
        self.name = spec.label or file.name
        self.identity = f"glove-{file.name}-{status.st_size}-{status.st_mtime_ns}"
        self.unknown: set[str] = set()
        self._file = file
        self._dimension = self._read_dimension()
        self._vectors: dict[str, FloatArray] = {}

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        means = [
            vectors.sum(axis=0) / max(1, np.count_nonzero(vectors.any(axis=1)))
            for _, vectors in self.tokens(texts)
        ]
        return np.array(means, dtype=np.float32).reshape(-1, self._dimension)

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """A piece is a whole word."""
        cut = [find_words(text) for text in texts]
        words = [
            [text[start:end] for start, end in offsets.tolist()]
            for text, offsets in zip(texts, cut, strict=True)
        ]
        self._learn({word for some in words for word in some})
        nothing = np.zeros(self._dimension, dtype=np.float32)
        for text, offsets, some in zip(texts, cut, words, strict=True):
            places = np.arange(len(some), dtype=np.int64)
            aligned = AlignedText(
                text, places, np.column_stack([offsets, places, places + 1]).astype(np.int64)
            )
            vectors = [self._vectors.get(word, nothing) for word in some]
            yield aligned, np.array(vectors, dtype=np.float32).reshape(-1, self._dimension)

    def _learn(self, words: set[str]) -> None:
        new = words - self._vectors.keys() - self.unknown
        wanted = {form.encode() for word in new for form in (word, word.lower())}
        found: dict[bytes, FloatArray] = {}
        if wanted:
            with self._opened() as stream:
                for number, line in enumerate(stream, start=1):
                    name = line[: line.find(b" ")]
                    if name in wanted and name not in found:
                        found[name] = self._parse(line, number)
        for word in new:
            vector = found.get(word.encode(), found.get(word.lower().encode()))
            if vector is None:
                self.unknown.add(word)
            else:
                self._vectors[word] = vector
        if missing := len(new & self.unknown):
            logger.warning("%s: no vector for %d of %d words", self.name, missing, len(new))

    def _parse(self, line: bytes, number: int) -> FloatArray:
        try:
            vector = np.array(line.rstrip().rsplit(b" ", self._dimension)[1:], dtype=np.float32)
        except ValueError:
            vector = np.empty(0, dtype=np.float32)
        if vector.shape != (self._dimension,) or not np.isfinite(vector).all():
            raise SOURCE.malformed(self._file, f"line {number} has no {self._dimension} numbers")
        return vector

    def _read_dimension(self) -> int:
        """Numbers in a vector, from the second line: the first may be word2vec's counts."""
        with self._opened() as stream:
            parts = (stream.readline(), stream.readline())
        dimension = len((parts[1] or parts[0]).split()) - 1
        if dimension < 2:
            raise SOURCE.malformed(self._file, "its first lines are no vectors")
        return dimension

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes] | gzip.GzipFile]:
        file = self._file
        try:
            with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
                yield stream
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{file}: cannot be read ({error})") from None

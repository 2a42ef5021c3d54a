"""Text → words → word pieces, linked by offsets, and the windows that a model reads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding, Tokenizer

from slice_os.arrays import IntArray
from slice_os.errors import ModelError
from slice_os.text.documents import check_text
from slice_os.text.words import find_words
from slice_os.threads import checkpoint

BLOCK_CHARACTERS = 32_768
MARGIN_PIECES = 32

_NO_IDS = np.empty(0, dtype=np.int64)
_NO_WORDS = np.empty((0, 4), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class AlignedText:
    """A text, its words and its word pieces.

    Attributes:
        text: unchanged.
        piece_ids: ``(n_pieces,)`` vocabulary ids, without special tokens.
        words: ``(n_words, 4)`` rows of start and end code point, first piece and one past the
            last piece. Pieces between two words (punctuation) belong to neither.
    """

    text: str
    piece_ids: npt.NDArray[np.int64]
    words: IntArray


@dataclass(frozen=True, slots=True)
class PieceWindow:
    """The model reads the pieces ``start:end`` together; ``keep_start:keep_end`` are kept."""

    start: int
    end: int
    keep_start: int
    keep_end: int


class Aligner:
    """Cuts texts into words and word pieces with a model's own tokenizer, or a copy of it.

    Special tokens with the ids ``prefix`` and ``suffix`` stand around a text.

    Raises a `ModelError` if the file does not hold a tokenizer, or one that cannot read every text.
    """

    def __init__(self, tokenizer: Path | Tokenizer) -> None:
        self._name = tokenizer if isinstance(tokenizer, Path) else "tokenizer"
        if isinstance(tokenizer, Path):
            try:
                self._tokenizer = Tokenizer.from_file(str(tokenizer))
            except Exception as error:  # the library raises bare Exception
                raise ModelError(f"{tokenizer}: not a tokenizer file ({error})") from None
        else:
            self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # "[SEP]" in a text means these characters, not the token.
        self._tokenizer.encode_special_tokens = True
        empty = self._encoded("", special=True).ids
        marked = self._encoded("a", special=True).special_tokens_mask
        if 0 not in marked:
            raise ModelError(f"{self._name}: has no word piece for 'a', nor for unknown letters")
        before = marked.index(0)
        self.prefix, self.suffix = tuple(empty[:before]), tuple(empty[before:])
        unknown = getattr(self._tokenizer.model, "unk_token", None)
        self._unknown = None if unknown is None else self._tokenizer.token_to_id(unknown)

    def align(self, text: str) -> AlignedText:
        """Align a whole text; nothing is truncated, padded or normalised away.

        Words that share a word piece are joined, so that no span ever needs half a vector. A word
        that the tokenizer erases has no vector and is not in ``words``. A lone surrogate is an
        InputError.
        """
        check_text(text, where="text")
        ids, words = [_NO_IDS], [_NO_WORDS]
        n_pieces = 0
        for start, end in _blocks(text):
            checkpoint()
            block = text[start:end]
            encoding = self._encoded(block, special=False)
            pieces = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
            ids.append(np.array(encoding.ids, dtype=np.int64))
            shift = np.array([start, start, n_pieces, n_pieces])
            words.append(_align_words(find_words(block), pieces) + shift)
            n_pieces += len(pieces)
        return AlignedText(text, piece_ids=np.concatenate(ids), words=np.concatenate(words))

    def knows(self, aligned: AlignedText) -> bool:
        """Whether any word has another piece than the one that all unknown words share."""
        pieces = (aligned.piece_ids[first:last] for _, _, first, last in aligned.words)
        return any((own != self._unknown).any() for own in pieces)

    def _encoded(self, text: str, *, special: bool) -> Encoding:
        try:
            return self._tokenizer.encode(text, add_special_tokens=special)
        except Exception as error:  # the library raises bare Exception
            raise ModelError(f"{self._name}: cannot read {text!r:.50} ({error})") from None


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Cut at white space, which no token and no word crosses, else before a word, or anywhere."""
    start = 0
    while start < len(text):
        end = min(start + BLOCK_CHARACTERS, len(text))
        limit = min(end + BLOCK_CHARACTERS, len(text))
        end = next((at for at in range(end, limit) if text[at].isspace()), limit)
        if end == limit < len(text):
            words = find_words(text[start:end])
            end = start + int(words[-1, 0]) if len(words) and words[-1, 0] else end
        yield start, end
        start = end


def _align_words(words: IntArray, pieces: IntArray) -> IntArray:
    starts, ends = np.maximum.accumulate(pieces, axis=0).T
    first = np.searchsorted(ends, words[:, 0], side="right")
    last = np.searchsorted(starts, words[:, 1], side="left")
    kept = last > first
    words, first, last = words[kept], first[kept], last[kept]
    if not len(words):
        return _NO_WORDS
    opens = first[1:] >= last[:-1]
    heads = np.flatnonzero(np.append(True, opens))
    tails = np.flatnonzero(np.append(opens, True))
    return np.stack([words[heads, 0], words[tails, 1], first[heads], last[tails]], axis=1)


def plan_windows(
    start: int, end: int, n_pieces: int, capacity: int, boundaries: IntArray
) -> list[PieceWindow]:
    """The windows that give the pieces ``start:end`` of a text.

    Windows have up to ``capacity`` pieces. Their places depend on the whole text only, not on the
    pieces needed. Each piece is kept once, from a window in which it has `MARGIN_PIECES` (fewer in
    very short windows) of context on either side, unless the text ends sooner. Windows meet at a
    word boundary if one is near.

    The boundaries are sorted piece indices at which a word begins.
    """
    margin = min(MARGIN_PIECES, capacity // 4)
    edges = _window_edges(n_pieces, capacity, margin, boundaries)
    first = int(np.searchsorted(edges, start, side="right")) - 1
    last = int(np.searchsorted(edges, end, side="left"))
    windows = []
    for opens, closes in itertools.pairwise(edges[first : last + 1].tolist()):
        left = max(0, min(opens - margin, n_pieces - capacity))
        right = min(left + capacity, n_pieces)
        windows.append(PieceWindow(left, right, max(opens, start), min(closes, end)))
    return windows if end > start else []


def _window_edges(n_pieces: int, capacity: int, margin: int, boundaries: IntArray) -> IntArray:
    """The edges of windows: at even strides, moved back to the last word boundary if it is near."""
    if n_pieces <= capacity:
        return np.array([0, n_pieces])
    near = margin // 2
    even = np.arange(0, n_pieces, capacity - 2 * margin - near)
    boundaries = np.insert(boundaries, 0, 0)
    at_words = boundaries[np.searchsorted(boundaries, even, side="right") - 1]
    return np.append(np.where(even - at_words <= near, at_words, even), n_pieces)

"""Passages: documents are cut at sentences and turns, and encoded."""

from __future__ import annotations

import itertools
import logging
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from slice_os.arrays import BoolArray, IntArray
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.span_encoder import PieceRange, SpanEncoder
from slice_os.ingest.readers.speakers import speaker_named
from slice_os.spans.passages import DEFAULT_MAX_PIECES, DocumentPart, EncodedPassage
from slice_os.text.documents import ENGLISH, Document, Metadata, edges_within
from slice_os.text.languages import language_of
from slice_os.text.passage_layout import Reading, layout_fields, sentence_edges, turn_edges
from slice_os.text.sentences import sentence_ends
from slice_os.text.wrapped_lines import unwrapped

PART_PIECES = 16_384
_FOREIGN = (
    "document %r is not in English (%s): what is found in it, and in others like it, has no "
    "probability and no reasons; if it is English, read it with --language en"
)
CLAUSE_MARKS = frozenset(";:,)—\n")


logger = logging.getLogger("slice_os")


@dataclass(frozen=True, slots=True)
class PassageRange:
    """Code points ``start:end`` of a passage, and its words ``first_word:end_word``.

    Sentences and turns, whole or in part, and cuts, which its reading leaves out, are starts and
    ends.
    """

    start: int
    end: int
    first_word: int
    end_word: int
    sentences: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()


def align_document(document: Document, encoder: SpanEncoder) -> tuple[Reading, AlignedText]:
    """A document as it reads, and the words of that by their offsets in the document."""
    reading = unwrapped(document)
    aligned = encoder.align(reading.text)
    places = reading.outer_extents(aligned.words[:, :2])
    words = np.concatenate([places, aligned.words[:, 2:]], axis=1)
    return reading, replace(aligned, text=document.text, words=words)


def cut_passages(
    document: Document, reading: Reading, aligned: AlignedText, max_pieces: int = DEFAULT_MAX_PIECES
) -> list[PassageRange]:
    """Passages of as many whole sentences as fit, each within one speaker's turn.

    Every word is in exactly one passage, except those that the reading leaves out, and the names
    of speakers before their words, which are in none; only white space and these separate two
    passages. A sentence that is too long is cut after a clause mark or, if there is none, between
    two words. A word of more than ``max_pieces`` word pieces stays whole.
    """
    words = aligned.words
    if not len(words):
        return []
    turns = turn_edges(document)
    inner_ends = np.array(sentence_ends(reading.text, language_of(document)), dtype=np.int64)
    ends = np.union1d(reading.outer(inner_ends, ends=True), turns).astype(np.int64)
    sentence = np.searchsorted(ends, words[:, 0], side="right")
    named = _speaker_names(document, words)
    turn = _turns(document, words, named)
    units = np.flatnonzero((np.diff(sentence) != 0) | (np.diff(turn) != 0)) + 1
    inner = np.append(0, reading.inner(words[:, :2]))
    bounds = [0]

    def gap(at: int) -> str:
        return reading.text[inner[2 * at] : inner[2 * at + 1]]

    for unit_start, unit_end in itertools.pairwise([0, *units.tolist(), len(words)]):
        begun = bounds[-1]
        new_turn = unit_start > begun and turn[unit_start] != turn[unit_start - 1]
        if new_turn or words[unit_end - 1, 3] - words[begun, 2] > max_pieces:
            bounds += [unit_start] if unit_start > begun else []
            bounds += _cut_long(gap, words, unit_start, unit_end, max_pieces)
    breaks = np.union1d(ends, [segment.start for segment in document.segments])
    passages = _place(document.text, words, [*bounds, len(words)], breaks)
    sentences = sentence_edges(document.text, ends.tolist())
    return [
        replace(
            passage,
            sentences=tuple(edges_within(sentences, passage.start, passage.end)),
            turns=tuple(edges_within(turns, passage.start, passage.end)),
            cuts=tuple(
                min(max(edge, passage.start), passage.end)
                for edge in edges_within(reading.cuts, passage.start, passage.end)
            ),
        )
        for passage in passages
        if not named[passage.first_word]
    ]


def encode_documents(
    documents: Iterable[Document], encoder: SpanEncoder, max_pieces: int = DEFAULT_MAX_PIECES
) -> Iterator[DocumentPart]:
    """Cut and encode documents as a stream; memory does not grow with their number.

    A document is aligned and cut as a whole, but its vectors come in parts of bounded size, in
    order, the last one marked as such.
    """
    pending: deque[tuple[Document, AlignedText, list[PassageRange], bool]] = deque()
    told = not (encoder.calibration and encoder.calibration.english)

    def ranges() -> Iterator[PieceRange]:
        nonlocal told
        for document in documents:
            if not told and (language := language_of(document)) != ENGLISH:
                told = True
                logger.warning(_FOREIGN, document.id, language)
            reading, aligned = align_document(document, encoder)
            parts = _parts(cut_passages(document, reading, aligned, max_pieces), aligned)
            for number, part in enumerate(parts, start=1):
                pending.append((document, aligned, part, number == len(parts)))
                yield PieceRange(aligned, *_pieces(part, aligned))

    for vectors in encoder.encode_ranges(ranges()):
        document, aligned, part, last = pending.popleft()
        offset, _ = _pieces(part, aligned)
        encoded = []
        for passage in part:
            first, end = _pieces([passage], aligned)
            words = aligned.words[passage.first_word : passage.end_word].copy()
            words[:, 2:] -= first
            own = vectors[first - offset : end - offset]
            metadata = _metadata(document, passage)
            encoded.append(EncodedPassage(passage.start, passage.end, words, own, metadata))
        yield DocumentPart(document, tuple(encoded), last)


def _speaker_names(document: Document, words: IntArray) -> BoolArray:
    """Mark the ``(n,)`` words that only name the speaker of what follows on their line.

    Such a line begins outside every segment, and has only the name of the speaker of the next
    one and perhaps a time before it, as in ``[00:12] Agent: Hello``, or the time of nobody's.
    """
    named = np.zeros(len(words), dtype=bool)
    text, before = document.text, 0
    for segment in document.segments:
        gap = text[before : segment.start].rstrip()
        line = before + gap.rfind("\n") + 1
        if line < segment.start and (line > before or before == 0):
            first, end = np.searchsorted(words[:, 0], [line, segment.start])
            alone = end > first and words[end - 1, 1] <= segment.start
            if alone and speaker_named(gap[line - before :]) == (segment.speaker or ""):
                named[first:end] = True
        before = segment.end
    return named


def _turns(document: Document, words: IntArray, named: BoolArray) -> IntArray:
    """Number the turns of words; a speaker's consecutive segments are one, a name is another.

    So are those of a message that have the same author.
    """
    segments = document.segments
    authors = [(segment.speaker, segment.fields.get("from")) for segment in segments]
    changes = [True, *(one != other for one, other in itertools.pairwise(authors))]
    numbers = np.concatenate([[0], np.cumsum(changes)])
    starts = np.array([segment.start for segment in segments], dtype=np.int64)
    turns = numbers[np.searchsorted(starts, words[:, 0], side="right")]
    return np.cumsum(np.diff(2 * turns + named, prepend=0) != 0)


def _cut_long(
    gap: Callable[[int], str], words: IntArray, start: int, end: int, max_pieces: int
) -> list[int]:
    """The words before which a sentence is cut; ``gap(n)`` is what is between n - 1 and n."""
    cuts: list[int] = []
    while words[end - 1, 3] - words[start, 2] > max_pieces:
        limit = words[start, 2] + max_pieces
        stop = max(int(np.searchsorted(words[:, 3], limit, side="right")), start + 1)
        if stop >= end:
            break
        earliest = start + max(1, 2 * (stop - start) // 3)
        near = range(stop, earliest, -1)
        start = next((cut for cut in near if _parts_clauses(gap, cut)), stop)
        cuts.append(start)
    return cuts


def _parts_clauses(gap: Callable[[int], str], at: int) -> bool:
    """Whether a mark of a clause stands before a word, and not that of "twelve (12) months"."""
    marks = CLAUSE_MARKS.intersection(gap(at))
    return bool(marks - {")"}) or (bool(marks) and not gap(at - 1).endswith("("))


def _place(text: str, words: IntArray, bounds: list[int], breaks: IntArray) -> list[PassageRange]:
    passages = []
    start = 0
    for first, end in itertools.pairwise(bounds):
        stop = len(text)
        if end < len(words):
            gap_start, stop = int(words[end - 1, 1]), int(words[end, 0])
            index = int(np.searchsorted(breaks, gap_start))
            if index < len(breaks) and breaks[index] < stop:
                stop = int(breaks[index])
        surface = text[start:stop]
        left = len(surface) - len(surface.lstrip())
        passages.append(PassageRange(start + left, start + len(surface.rstrip()), first, end))
        start = stop
    return passages


def _parts(passages: list[PassageRange], aligned: AlignedText) -> list[list[PassageRange]]:
    parts: list[list[PassageRange]] = [[]]
    for passage in passages:
        _, end = _pieces([passage], aligned)
        if parts[-1] and end - _pieces(parts[-1], aligned)[0] > PART_PIECES:
            parts.append([])
        parts[-1].append(passage)
    return parts


def _pieces(passages: list[PassageRange], aligned: AlignedText) -> tuple[int, int]:
    if not passages:
        return 0, 0
    words = aligned.words
    return int(words[passages[0].first_word, 2]), int(words[passages[-1].end_word - 1, 3])


def _metadata(document: Document, passage: PassageRange) -> Metadata:
    segments = document.segments
    after = bisect_left(segments, passage.end, key=lambda segment: segment.start)
    before = bisect_right(segments, passage.start, key=lambda segment: segment.end)
    own = segments[before:after]
    edges = passage.sentences, passage.turns, passage.cuts
    return layout_fields(own, passage.start, *edges, language_of(document))

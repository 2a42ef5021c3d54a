"""Readers, one module per family of formats; `slice_os.ingest.formats` registers them."""

from slice_os.ingest.readers.reader import BadRecord, PackedFile, ReadNote, ReadOptions, SkippedFile

__all__ = ["BadRecord", "PackedFile", "ReadNote", "ReadOptions", "SkippedFile"]

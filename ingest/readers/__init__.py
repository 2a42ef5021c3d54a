"""Readers, one module per family of formats; `slice_os.ingest.formats` registers them."""

from slice_os.ingest.readers.reader import BadRecord, PackedFile, ReadOptions, SkippedFile

__all__ = ["BadRecord", "PackedFile", "ReadOptions", "SkippedFile"]

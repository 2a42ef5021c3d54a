"""What a store holds, read without an encoder."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from html import escape
from types import TracebackType
from typing import TypeVar

from slice_os.errors import InputError, SliceError
from slice_os.search.notebook_html import corpus_html
from slice_os.stores.protocol import DocumentEntry, FieldValue, SourceEntry, Store, StoreInfo
from slice_os.text.documents import Metadata

_Contents = TypeVar("_Contents", bound="Contents")


class Contents(ABC):
    """The documents of a store: their number, their ids, and the text of each."""

    @cached_property
    @abstractmethod
    def store(self) -> Store:
        """The store."""

    @property
    @abstractmethod
    def _location(self) -> str:
        """Folder or address of the store."""

    @abstractmethod
    def close(self) -> None:
        """Close the store, if this object opened it."""

    def text(self, doc_id: str) -> str:
        """The text of a document, exactly as given; the offsets of hits count its code points.

        Raises:
            InputError: if the id is unknown.
        """
        text = self.store.document_text(doc_id)
        if text is None:
            raise self._unknown(doc_id)
        return text

    def metadata(self, doc_id: str) -> Metadata:
        """The metadata of a document.

        Raises:
            InputError: if the id is unknown.
        """
        metadata = self.store.document_metadata(doc_id)
        if metadata is None:
            raise self._unknown(doc_id)
        return metadata

    def info(self) -> StoreInfo:
        """Counts of the store, and its encoder."""
        return self.store.info()

    def documents(self, after: str = "") -> Iterator[DocumentEntry]:
        """The documents in the store, by id.

        Args:
            after: only those whose ids come after this one.
        """
        return self.store.list_documents(after)

    def sources(self) -> Iterator[SourceEntry]:
        """The sources that the documents came from, by name."""
        return self.store.list_sources()

    def _unknown(self, doc_id: str) -> InputError:
        return InputError(f"{self._location}: no document {doc_id!r}")

    def fields(self) -> dict[str, str]:
        """The metadata fields that filters can name, each ``text`` or ``number``."""
        return self.store.fields()

    def field_values(self, field: str, limit: int = 100) -> list[FieldValue]:
        """The most frequent values of a metadata field, each with its number of documents.

        Args:
            field: its name.
            limit: number of values.

        Raises:
            InputError: if no passage has such a field.
        """
        return self.store.field_values(field, limit)

    def __len__(self) -> int:
        return self.info().documents

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and bool(self.store.find_documents([doc_id]))

    def __iter__(self) -> Iterator[str]:
        return (entry.id for entry in self.documents())

    def __bool__(self) -> bool:
        return True  # a corpus without documents is still there, and this must not ask a server

    def __repr__(self) -> str:
        # Without a password, which an address must not have, but may.
        shown = re.sub(r"//([^:/@]*):.*@", r"//\1:…@", self._location)
        return f"{type(self).__name__}({shown!r})"

    def _repr_html_(self) -> str:
        """What the store holds, for notebooks; its name alone if it cannot be opened."""
        try:
            return corpus_html(repr(self), self.info())
        except SliceError as error:
            return f"<code>{escape(repr(self))}</code><br>{escape(str(error))}"

    def __enter__(self: _Contents) -> _Contents:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

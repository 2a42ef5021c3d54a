"""The settings of an index while much is written to it, and putting them back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from opensearchpy import OpenSearch

from slice_os.errors import StoreError
from slice_os.stores.opensearch.indices import errors_explained
from slice_os.stores.opensearch.lease import Lease, leased
from slice_os.stores.opensearch.retry import retrying
from slice_os.stores.opensearch.settings import META

RESTORE = "restore"
PASSAGES = {"query": {"term": {"kind": "passage"}}}

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Load:
    """A load under way.

    Attributes:
        cut_off: whether an earlier load did not come to its end, and may have left passages of
            documents that are not whole.
        lease: the right to write.
    """

    cut_off: bool
    lease: Lease

    def check(self) -> None:
        """Make sure that nobody else writes.

        Raises:
            StoreError: if another process has taken over.
        """
        self.lease.check()


@contextmanager
def loading(client: OpenSearch, index: str, location: str) -> Iterator[Load]:
    """A bulk load: no refresh, no replicas while the index is empty, and no other writer.

    What the settings were is noted in the mapping first, and the note goes last. So a load
    that was cut off, even by SIGKILL, is put right by the next one.

    Raises:
        StoreError: if another process is writing.
    """
    with leased(client, index, location) as lease:
        cut_off, restore = _begin(client, index, location)
        load = Load(cut_off, lease)
        try:
            yield load
        except BaseException:
            # What went wrong first is what the caller has to hear. Where this fails, too, the
            # note stays with the settings; else empty, since documents may not be whole.
            if not lease.lost:
                with suppress(StoreError), errors_explained(location):
                    client.indices.put_settings(index=index, body={"index": restore})
                    _note(client, index, {})
                    client.indices.refresh(index=index)
            raise
        load.check()
        _finish(client, index, location, restore)


def read_note(client: OpenSearch, index: str) -> Settings | None:
    """The settings to restore after a load that is under way or was cut off; None after neither."""
    meta = _meta(client, index)[META]
    noted: Settings | None = meta.get(RESTORE)
    return noted


@retrying
def _begin(client: OpenSearch, index: str, location: str) -> tuple[bool, Settings]:
    """Whether an earlier load was cut off, and the settings to restore."""
    with errors_explained(location):
        noted = read_note(client, index)
        restore = noted or _current(client, index)
        _note(client, index, restore)
        client.indices.refresh(index=index)
        client.indices.put_settings(index=index, body={"index": _fast(client, index)})
    return noted is not None, restore


@retrying
def _finish(client: OpenSearch, index: str, location: str, restore: Settings) -> None:
    with errors_explained(location):
        client.indices.put_settings(index=index, body={"index": restore})
        client.indices.refresh(index=index)
        _note(client, index, None)


def _fast(client: OpenSearch, index: str) -> Settings:
    found = client.count(index=index, body=PASSAGES)
    empty = found["count"] == 0 and not found["_shards"]["failed"]
    return {"refresh_interval": "-1"} | ({"number_of_replicas": 0} if empty else {})


def _current(client: OpenSearch, index: str) -> Settings:
    settings = client.indices.get_settings(index=index)[index]["settings"]["index"]
    return {
        "refresh_interval": settings.get("refresh_interval"),
        "number_of_replicas": settings["number_of_replicas"],
    }


def _note(client: OpenSearch, index: str, restore: Settings | None) -> None:
    """Write the mapping's ``_meta`` with the settings to restore, or without any."""
    meta = _meta(client, index)
    ours = {name: value for name, value in meta[META].items() if name != RESTORE}
    if restore is not None:
        ours[RESTORE] = restore
    client.indices.put_mapping(index=index, body={"_meta": {**meta, META: ours}})


def _meta(client: OpenSearch, index: str) -> dict[str, Any]:
    meta: dict[str, Any] = client.indices.get_mapping(index=index)[index]["mappings"]["_meta"]
    return meta

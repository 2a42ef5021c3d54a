"""The right to write to an index, and its settings during a load.

The first of several processes that load an index notes its settings in the mapping, and the last
one restores them. A process begins and ends behind a gate, so that the others are either before
it or after it. If the last one is killed, the note stays, and the next load does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from slice_os.errors import StoreError
from slice_os.stores.cluster.loading.bulk import (
    Action,
    BulkSender,
    DocumentVersion,
    delete_action,
    version_of,
)
from slice_os.stores.cluster.loading.copies import Footprint, await_replicas, drop_copies
from slice_os.stores.cluster.loading.lease import (
    GATE_KEY,
    Lease,
    gate,
    lease_key,
    read_leases,
    remove,
    watch,
)
from slice_os.stores.cluster.schema.indices import change_notes
from slice_os.stores.cluster.schema.records import ordinals_of, passage_key
from slice_os.stores.cluster.schema.settings import noted
from slice_os.stores.cluster.search.listing import by_document
from slice_os.stores.cluster.search.searches import PASSAGES
from slice_os.stores.cluster.server.answers import deleted, retrying
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.protocol import WHOLE, WorkShare

RESTORE = "restore"
LOAD = "load"
_REPLICAS = "number_of_replicas"

SavedSettings: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """A document whose passages do not match its record.

    Its record expects so many from a first ordinal on, 0 if there is no record; the passages that
    exist have their versions by their ordinals.
    """

    doc_id: str
    expected: int
    first: int
    passages: Mapping[int, DocumentVersion]

    @property
    def surplus(self) -> dict[int, DocumentVersion]:
        """Those of the passages that are not in a record."""
        recorded = range(self.first, self.first + self.expected)
        return {number: one for number, one in self.passages.items() if number not in recorded}

    @property
    def missing(self) -> int:
        """Number of passages that are in the record but do not exist."""
        return self.expected - (len(self.passages) - len(self.surplus))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the ordinals of the passages, without their versions."""
        told = {"doc_id": self.doc_id, "expected": self.expected, "first": self.first}
        return {**told, "ordinals": list(self.passages)}


def find_faults(handle: IndexHandle, doc_ids: Sequence[str] | None = None) -> Iterator[Fault]:
    """Compare every document's record with its passages, in one state of the index.

    Of some documents, or of all.
    """
    shown = ["doc_id", "kind", "ordinal", "passages"]
    handle.refresh()
    # Complete answers only: with partial ones, good passages could seem to have no record.
    for doc_id, group in by_document(handle, doc_ids, _source=shown, seq_no_primary_term=True):
        recorded, passages = range(0), {}
        for hit in group:
            entry = hit["_source"]
            if entry["kind"] == "document":
                recorded = ordinals_of(entry)
            else:
                passages[entry["ordinal"]] = version_of(hit)
        fault = Fault(doc_id, len(recorded), recorded.start, passages)
        if fault.surplus or fault.missing:
            yield fault


def repair(handle: IndexHandle) -> int:
    """Delete the passages that are not in a record; returns how many were found."""
    faults = find_faults(handle)
    surplus = [one for fault in faults for one in deletions(fault.doc_id, fault.surplus)]
    deliver(handle, surplus)
    return len(surplus)


def deletions(doc_id: str, passages: Mapping[int, DocumentVersion]) -> list[Action]:
    """Deletions of passages of a document, by their ordinals.

    One that is written again meanwhile stays, however late a node carries out its deletion.
    """
    return [
        delete_action(0, passage_key(doc_id, ordinal), version)
        for ordinal, version in passages.items()
    ]


def deliver(handle: IndexHandle, actions: Sequence[Action]) -> None:
    """Send actions to an index, and wait for the answers."""
    with closing(BulkSender(handle)) as sender:
        sender.deliver(actions)


@dataclass(frozen=True, slots=True)
class LoadNote:
    """A note for the next process: a load is in progress, or was interrupted.

    It has the settings before the load, empty if they are restored already, into how many parts the
    sources are divided, and whether passages of incomplete documents may have been left behind.
    """

    restore: SavedSettings
    parts: int
    interrupted: bool


@contextmanager
def leased(handle: IndexHandle) -> Iterator[Lease]:
    """Hold the exclusive right to write to an index, without preparing it for a load.

    Raises a `StoreError` if another process is writing.
    """
    lease = _admitted(handle, WHOLE, prepares=False)
    try:
        yield lease
    finally:
        lease.release()


@contextmanager
def loading(handle: IndexHandle, part: WorkShare = WHOLE) -> Iterator[Lease]:
    """A bulk load: no refresh, no replicas while the index is empty.

    Processes with different parts of the same division load together. What an interrupted load
    left behind is deleted by the last of them, when all have had the chance to complete it. It also
    merges the index if that frees much space; see `drop_copies`.

    Raises a `StoreError` if another process is writing the same part, or a part of another
    division; at the end, if the index was deleted meanwhile.
    """
    lease = _admitted(handle, part)
    writes = 0
    try:
        made = _identity(handle)
        writes = retrying(Footprint.of)(handle).writes
        yield lease
        lease.check()
        # OpenSearch makes an index that was deleted again for the next record, without its alias.
        if _identity(handle) != made:
            raise deleted(handle.location)
    except BaseException:
        # The caller has to see the first error. If this fails, too, the note stays, and the
        # lease expires, so that the next load or the last process repairs.
        if not lease.lost:
            with suppress(StoreError):
                if not lease.clean:
                    _note_interruption(handle)
                lease.release()
                _end(handle, part, writes, failed=True, clean=lease.clean)
        lease.stop()
        raise
    lease.release()
    if retrying(_end)(handle, part, writes):
        await_replicas(handle)


@retrying
def _admitted(handle: IndexHandle, part: WorkShare, prepares: bool = True) -> Lease:
    """A lease on a part; prepares the index for a load, unless told otherwise."""
    while True:
        live, expired = watch(handle, _rivals(part, _read_note(handle)))
        if live:
            rival = live[0]
            number = rival.key.removeprefix(f"{GATE_KEY}-").replace("-of-", "/")
            what = "to it" if rival.key == lease_key(WHOLE) else f"part {number} of it"
            raise StoreError(
                f"{handle.location}: another process is writing {what} ({rival.holder}); wait "
                "until it ends"
            )
        with gate(handle):
            note = _read_note(handle)
            held = read_leases(handle, _rivals(part, note))
            if any(lease not in expired for lease in held):
                continue  # another process came meanwhile
            beside = [lease for lease in read_leases(handle, _keys(part)) if lease not in held]
            lease = Lease(handle, lease_key(part))
            if not lease.take(*(one for one in held if one.key == lease_key(part))):
                continue
            try:
                remove(handle, (one for one in held if one.key != lease_key(part)))
                if prepares:
                    _begin(handle, part, note, bool(held) or not beside)
            except BaseException:
                lease.release()
                raise
            return lease


def _begin(handle: IndexHandle, part: WorkShare, note: LoadNote | None, takes_over: bool) -> None:
    """Prepare the index, unless another process of the same load has done so."""
    if note is not None and not (takes_over or note.interrupted):
        return
    restore = (note and note.restore) or _current(handle)
    _write_note(handle, LoadNote(restore, part.total, interrupted=note is not None))
    handle.refresh()
    found = handle.ask(handle.client.count, body={"query": PASSAGES})
    # A shard that no node has counts neither as failed nor as successful.
    everywhere = found["_shards"]["successful"] == found["_shards"]["total"]
    empty = found["count"] == 0 and everywhere
    fast = {"refresh_interval": "-1"} | ({_REPLICAS: 0} if empty else {})
    handle.ask(handle.client.indices.put_settings, body={"index": fast})


def _end(
    handle: IndexHandle, part: WorkShare, writes: int, failed: bool = False, clean: bool = False
) -> bool:
    """Restore the settings, unless others run the same load; returns whether that adds replicas.

    If this process failed, the next load repairs the index, unless all that it wrote is ``clean``,
    and it was before. ``writes`` are those before the load.
    """
    live, expired = watch(handle, _keys(part))
    if live:
        return False
    with gate(handle) as alone:
        note = _read_note(handle)
        came = [one for one in read_leases(handle, _keys(part)) if one not in expired]
        if came or note is None or note.parts != part.total:
            return False  # another process does it, or has done it
        if (note.interrupted or expired) and not failed:
            repair(handle)
            alone.check()
        handle.refresh()
        if not failed:
            # Before there are replicas: one copy is merged, and the others are made from it.
            drop_copies(handle, writes)
            alone.check()
        before = note.restore.get(_REPLICAS)
        adds_replicas = before not in (None, _current(handle)[_REPLICAS])
        handle.ask(handle.client.indices.put_settings, body={"index": note.restore})
        damaged = failed and (not clean or note.interrupted or bool(expired))
        _write_note(handle, LoadNote({}, part.total, interrupted=True) if damaged else None)
        remove(handle, expired)
    return adds_replicas


def _note_interruption(handle: IndexHandle) -> None:
    with gate(handle):
        note = _read_note(handle)
        if note is not None:
            _write_note(handle, replace(note, interrupted=True))


def _keys(part: WorkShare) -> list[str]:
    """The leases of all parts of a division."""
    return [lease_key(one) for one in part.all()]


def _rivals(part: WorkShare, note: LoadNote | None) -> list[str]:
    """The leases that exclude a part: its own, the whole, and those of another division."""
    rivals = {lease_key(part), lease_key(WHOLE)}
    if note is not None and note.parts != part.total:
        rivals.update(_keys(WorkShare(1, note.parts)))
    return sorted(rivals)


@retrying
def _identity(handle: IndexHandle) -> str:
    """The id of an index, which another one of its name does not have."""
    return str(_settings(handle)["uuid"])


def _current(handle: IndexHandle) -> SavedSettings:
    settings = _settings(handle)
    return {name: settings.get(name) for name in ("refresh_interval", _REPLICAS)}


def _settings(handle: IndexHandle) -> SavedSettings:
    found = handle.ask(handle.client.indices.get_settings)
    settings: SavedSettings = found[handle.name]["settings"]["index"]
    return settings


def _read_note(handle: IndexHandle) -> LoadNote | None:
    """The note; None if no load is in progress or was interrupted."""
    ours = noted(handle.mapping())
    return LoadNote(ours[RESTORE], **ours[LOAD]) if RESTORE in ours else None


def _write_note(handle: IndexHandle, note: LoadNote | None) -> None:
    """Replace the note, or remove it. Only a process that holds the gate may do that."""
    load = note and {"parts": note.parts, "interrupted": note.interrupted}
    change_notes(handle, {RESTORE: note and note.restore, LOAD: load})

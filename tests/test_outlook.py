"""Every word of an Outlook message is in a text, or a line counts what was left out."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import TypeAlias

import pytest

from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.readers.reader import OLE_MAGIC, PackedFile
from slice_os.ingest.reading import read_stream
from slice_os.text.documents import Document

SUBJECT, BODY, HTML, RTF, SENT, PAGE = 0x0037, 0x1000, 0x1013, 0x1009, 0x0039, 0x3FDE
NAME, DATA = 0x3707, 0x3701
# The example of Outlook's format of packed RTF (MS-OXRTFCP).
PACKED = bytes.fromhex(
    "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
)
Values: TypeAlias = Mapping[int, object]
Read: TypeAlias = Callable[[SimpleNamespace], tuple[list[Document], list[str]]]


def storage(name: str, values: Values, *inside: object, head: int = 8) -> SimpleNamespace:
    """A storage: texts, bytes and numbers by their property, and storages in it."""
    fixed, streams = b"", {}
    for key, value in values.items():
        if isinstance(value, int):
            fixed += struct.pack("<HHIq", 3, key, 0, value)
        else:
            kind, raw = (
                ("001F", value.encode("utf-16-le")) if isinstance(value, str) else ("0102", value)
            )
            kind = "001E" if isinstance(raw, bytearray) else kind
            streams[f"__substg1.0_{key:04X}{kind}"] = bytes(raw)
    streams["__properties_version1.0"] = bytes(head) + fixed
    return folder(name, streams, *inside)


def folder(name: str, streams: Mapping[str, bytes], *inside: object) -> SimpleNamespace:
    """A node of a container, as olefile has it."""
    files = (SimpleNamespace(name=one, entry_type=2, raw=raw) for one, raw in streams.items())
    return SimpleNamespace(name=name, entry_type=1, kids=[*inside, *files])


def opened(root: SimpleNamespace, path: Sequence[str]) -> io.BytesIO:
    """A stream by its path."""
    node = root
    for name in path:
        node = next(one for one in node.kids if one.name == name)
    return io.BytesIO(node.raw)


def attached(number: int, values: Values, *inside: object) -> SimpleNamespace:
    return storage(f"__attach_version1.0_#{number:08X}", values, *inside)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads a message, and what is attached to it."""
    pytest.importorskip("lxml")
    pytest.importorskip("olefile")

    def run(message: SimpleNamespace) -> tuple[list[Document], list[str]]:
        container = SimpleNamespace(
            exists=lambda _: False, root=message, openstream=partial(opened, message)
        )
        monkeypatch.setattr("olefile.OleFileIO", lambda _: nullcontext(container))
        found = list(reader_named("msg").load()("s", io.BytesIO(OLE_MAGIC), ReadOptions()))
        for one in [one for one in found if isinstance(one, PackedFile)]:
            found += read_stream(one.source, one.format or "text", one.stream, ReadOptions())
        documents = [one for one in found if isinstance(one, Document)]
        return documents, [one.reason for one in found if isinstance(one, BadRecord)]

    return run


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({SUBJECT: "Hi", BODY: "I want to cancel.\r\n"}, "Hi\nI want to cancel."),
        ({SUBJECT: "Hi", BODY: " \r\n", HTML: "<p>I want to cancel."}, "Hi\nI want to cancel."),
        ({HTML: "<p>Zażółć".encode("cp1250"), PAGE: 1250}, "Zażółć"),
        ({HTML: '<meta charset="big5">測試'.encode("big5"), PAGE: 99}, "測試"),
        ({SUBJECT: bytearray("測試測試".encode("big5")), 0x3FFD: 950}, "測試測試"),
        ({BODY: bytearray("Café – naïve".encode("cp1252")), PAGE: 0}, "Café – naïve"),
        ({RTF: PACKED}, "hello world"),
        ({RTF: b"    \x0c\0\0\0MELA\0\0\0\0{\\rtf1 Hi\\par there}"}, "Hi\nthere"),
        ({BODY: "Hi", RTF: PACKED}, "Hi"),
        ({RTF: PACKED[:40], SUBJECT: "Cut"}, "Cut\nhello w"),
    ],
)
def test_the_text_is_read_however_it_is_stored(read: Read, values: Values, text: str) -> None:
    documents, told = read(storage("", values, head=32))
    assert ([one.text for one in documents], told) == ([text], [])


def test_headers_are_kept(read: Read) -> None:
    values = {
        SUBJECT: "Hi",
        0x0C1A: "Ann",
        0x5D01: "ann@example.org",
        0x0E04: "Bob",
        SENT: 134_000_000_000_000_000,
    }
    (document,), _ = read(storage("", values, head=32))
    assert document.metadata == {
        "subject": "Hi",
        "to": "Bob",
        "from": '"Ann" <ann@example.org>',
        "date": "2025-08-18T14:13:20+00:00",
    }
    (document,), told = read(storage("", {SUBJECT: "Hi", SENT: (1 << 63) - 1}, head=32))
    assert (document.text, document.metadata, told) == ("Hi", {"subject": "Hi"}, [])


def test_attached_files_and_messages_are_documents(read: Read) -> None:
    deepest = storage(
        "__substg1.0_3701000D", {SUBJECT: "Deep", HTML: "<p>The deepest café</p>"}, head=24
    )
    inner = storage(
        "__substg1.0_3701000D",
        {SUBJECT: "Inner", BODY: "My card was stolen.", SENT: 134_000_000_000_000_000},
        attached(0, {NAME: "Größe.txt", DATA: b"A file"}),
        attached(1, {0x3001: "Deep"}, deepest),
        head=24,
    )
    message = storage(
        "",
        {SUBJECT: "Outer"},
        attached(0, {NAME: "a.txt", DATA: b"First"}),
        attached(1, {0x3001: "Fwd: Inner"}, inner),
        attached(2, {NAME: "picture"}, folder("__substg1.0_3701000D", {})),
        attached(3, {NAME: "link.txt"}),
        storage("__recip_version1.0_#00000000", {0x3001: "Bob"}),
        head=32,
    )
    documents, told = read(message)
    assert {one.id: one.text for one in documents} == {
        "s": "Outer",
        "s/a.txt": "First",
        "s/Fwd: Inner.eml": "Inner\nMy card was stolen.",
        "s/Fwd: Inner.eml/Größe.txt": "A file",
        "s/Fwd: Inner.eml/Deep.eml": "Deep\nThe deepest café",
    }
    assert documents[2].metadata["date"] == "2025-08-18T14:13:20+00:00"
    assert told == ["attached objects left out: 2"]

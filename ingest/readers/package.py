"""Office files as packages: their parts, and the relations between these.

A relation to a part that is not there harms nothing but what it leads to, and a part is known by
the kind of its relation, so that documents with macros, templates and Strict files read as others.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote

from slice_os.errors import InputError
from slice_os.ingest.readers.archives import BROKEN_OFF
from slice_os.ingest.readers.reader import PackedFile, ReadOptions, Turn, needs

_USUAL = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml")
_UNREAD = {
    "oleObject": "embedded objects left out",
    "control": "controls left out",
    "subDocument": "subdocuments left out",
}


class Relation(NamedTuple):
    """The last word of its type, such as ``footnotes``, and the part that it leads to."""

    kind: str
    part: str


class Package:
    """An Office file; parts have their names in the archive, such as ``word/document.xml``.

    What is left out is counted in ``counts``. Raises a `zipfile.BadZipFile` if it is none.
    """

    def __init__(self, content: BinaryIO, counts: Counter[str]) -> None:
        self._archive = zipfile.ZipFile(content)
        names = self._archive.namelist()
        self._names = {name.lower(): name for name in names} | {name: name for name in names}
        self._relations: dict[str, dict[str, Relation]] = {}
        self.counts = counts
        usual = (name for name in _USUAL if name in self._names)
        self.main = next(chain(self.related("", "officeDocument"), usual), "")
        if not self.main:
            raise InputError("an Office file without its main part; open and save it once more")

    def read(self, part: str) -> bytes | None:
        """The bytes of a part; None if it is not there."""
        name = self._names.get(part) or self._names.get(part.lower())
        return None if name is None else self._archive.read(name)

    def root(self, part: str, damaged: str = "damaged parts left out") -> Any:
        """The root of a part's XML; empty if it is not there, or ``damaged``, which counts.

        Raises an ``lxml.etree.XMLSyntaxError`` or another error if the main part is damaged.
        """
        try:
            content = self.read(part)
            count(self.counts, "missing parts", content is None)
            return _parsed(content or b"<none/>", recover=False)
        except (SyntaxError, *BROKEN_OFF):
            if part == self.main:
                raise
            count(self.counts, damaged)
            return _parsed(b"<none/>", recover=False)

    def elements(self, part: str, *names: str) -> Iterator[Any]:
        """The elements of these names, one after the other; each is gone when the next comes."""
        content = self.read(part) or b"<none/>"
        tags = tuple(f"{{*}}{name}" for name in names)
        found = needs("lxml.etree").iterparse(io.BytesIO(content), tag=tags, resolve_entities=False)
        for _, element in found:
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]

    def relations(self, part: str) -> Mapping[str, Relation]:
        """The relations of a part by their ids, but those to elsewhere."""
        if part in self._relations:
            return self._relations[part]
        folder, name = posixpath.split(part)
        content = self.read(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = self._relations[part] = {}
        for one in _parsed(content or b"<none/>", recover=True):
            if one.get("TargetMode") != "External":
                target = unquote(one.get("Target", ""))
                path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                found[one.get("Id", "")] = Relation(one.get("Type", "").rpartition("/")[2], path)
        return found

    def related(self, part: str, *kinds: str) -> Iterator[str]:
        """The parts that a part leads to by relations of these kinds, each once."""
        found = (one.part for one in self.relations(part).values() if one.kind in kinds)
        yield from dict.fromkeys(found)

    @cached_property
    def styles(self) -> list[Any]:
        """The roots of a Word file's styles; without damaged ones, words are read all the same."""
        damaged = "damaged styles, so that headings and hidden texts are unknown"
        return [self.root(part, damaged) for part in self.related(self.main, "styles")]

    @cached_property
    def hidden_styles(self) -> frozenset[str]:
        """The ids of a Word file's styles whose text is hidden, such as *z-Top of Form*.

        A style that does not say so itself is as the one that it is based on.
        """
        word = [] if self.main.startswith(("xl/", "ppt/")) else self.styles
        roots = (styles.iterfind("{*}style") for styles in word)
        styles = {attribute(one, "styleId"): one for one in chain.from_iterable(roots)}
        hidden = list[str]()
        based: defaultdict[str, list[str]] = defaultdict(list)
        for name, style in styles.items():
            said, base = style.find("{*}rPr/{*}vanish"), style.find("{*}basedOn")
            if said is None and base is not None:
                based[attribute(base, "val")].append(name)
            elif said is not None and is_on(attribute(said, "val") or "1"):
                hidden.append(name)
        for name in hidden:
            hidden += based[name]
        return frozenset(hidden) - {""}

    def beside(self, source: str, part: str) -> Iterator[PackedFile]:
        """The files within a part; comments and objects that no reader has are counted."""
        for kind, part_of in dict.fromkeys(self.relations(part).values()):
            if kind == "package" and (content := self.read(part_of)) is not None:
                yield PackedFile(f"{source}/{part_of}", part_of, io.BytesIO(content))
            elif kind == "comments":
                comments = self.root(part_of).iter("{*}comment", "{*}cm")
                count(self.counts, "comments left out", sum(1 for _ in comments))
            else:
                count(self.counts, _UNREAD.get(kind, ""))


def _parsed(content: bytes, recover: bool) -> Any:
    etree = needs("lxml.etree")
    parser = etree.XMLParser(resolve_entities=False, recover=recover)
    found = etree.fromstring(content, parser)
    return () if found is None else found


def count(counts: Counter[str], kind: str, times: int = 1) -> None:
    """Count what has a kind, if there is some."""
    if kind and times:
        counts[kind] += times


def edges(
    kind: str, texts: Iterable[str], options: ReadOptions, counts: Counter[str]
) -> list[Turn]:
    """Headers or footers, if they are read; they are counted."""
    turns = [Turn(text, fields={"part": kind}) for text in texts]
    count(counts, f"{kind}s" if options.page_edges else f"{kind}s left out", len(turns))
    return turns if options.page_edges else []


def name_of(element: Any) -> str:
    """The name of an element without its namespace; empty for comments in XML."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """An attribute of any namespace, or else of none; empty if it is not there."""
    own: str = element.get(name, "")
    return next((one for key, one in element.attrib.items() if key.endswith(f"}}{name}")), own)


def is_on(value: str | None) -> bool:
    """Whether an attribute that is there switches something on."""
    return value not in (None, "0", "false", "off")

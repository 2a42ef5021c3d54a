"""Hook of the docs site: what pages link to elsewhere in the repository comes along.

On a code host the link ``../recipes/slice-mini.toml`` of a page works as it is. The site has no
such folder, so the file is copied to ``repository/recipes/slice-mini.toml`` there, a page among
them is rendered, and the link is rewritten. A folder has no page: its name stays as text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

_LINK = re.compile(r"(!?)\[(?P<text>[^\]]*)\]\((?P<path>[\w./-]+)(?P<anchor>#[\w-]*)?\)")
_COPIES = "repository"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that pages link to, and those that added pages link to."""
    pages = list(files.documentation_pages())
    while pages:
        page = pages.pop()
        for target in _targets(page, config):
            uri = _uri(target, config)
            if target.is_file() and files.get_file_from_path(uri) is None:
                file = File.generated(config, uri, abs_src_path=str(target))
                file.inclusion = InclusionLevel.NOT_IN_NAV
                files.append(file)
                if file.is_documentation_page():
                    pages.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at where the site has their targets."""
    return _LINK.sub(_rewriter(page.file, config), markdown)


def _rewriter(file: File, config: MkDocsConfig) -> Callable[[re.Match[str]], str]:
    def rewrite(match: re.Match[str]) -> str:
        target = _target(file, match["path"])
        if not target.is_relative_to(_root(config)):
            return match[0]
        if target.is_dir():
            return match["text"]
        path = posixpath.relpath(_uri(target, config), posixpath.dirname(file.src_uri) or ".")
        return f"{match[1]}[{match['text']}]({path}{match['anchor'] or ''})"

    return rewrite


def _targets(file: File, config: MkDocsConfig) -> Iterator[Path]:
    for match in _LINK.finditer(file.content_string):
        target = _target(file, match["path"])
        if target.is_relative_to(_root(config)):
            yield target


def _target(file: File, path: str) -> Path:
    assert file.abs_src_path is not None
    return (Path(file.abs_src_path).parent / path).resolve()


def _uri(target: Path, config: MkDocsConfig) -> str:
    docs = Path(config.docs_dir).resolve()
    if target.is_relative_to(docs):
        return target.relative_to(docs).as_posix()
    return f"{_COPIES}/{target.relative_to(_root(config)).as_posix()}"


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).resolve().parent

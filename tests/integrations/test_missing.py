"""Without a framework, its module says in one line what to install."""

from __future__ import annotations

import sys
from importlib.metadata import metadata

import pytest

from ..command_line import printed

PROGRAM = """
import sys
for library in ("langchain_core", "haystack", "llama_index", "mcp", "spacy"):
    sys.modules[library] = None
for module, extra in {
    "langchain_search": "langchain",
    "haystack_components": "haystack",
    "llama_index_retriever": "llama-index",
    "spacy_spans": "spacy",
    "mcp_tools": "mcp",
}.items():
    try:
        __import__(f"slice_os.integrations.{module}")
    except ImportError as error:
        assert str(error).endswith(f"needs an extra: pip install 'slice-os[{extra}]'"), error
    else:
        raise AssertionError(module)
"""


def test_the_extra_is_named() -> None:
    printed([sys.executable, "-c", PROGRAM])


@pytest.mark.parametrize("extra", ["langchain", "haystack", "llama-index", "spacy", "mcp"])
def test_the_extra_exists(extra: str) -> None:
    assert extra in metadata("slice-os").get_all("Provides-Extra", [])

"""Stores by the scheme of their addresses, and fusions by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from slice_os import Corpus, Document, InputError, SpanEncoder, StoreError
from slice_os.query.options import FUSIONS
from slice_os.stores.registry import find_backend


def test_an_unknown_scheme_is_refused_without_repeating_it() -> None:
    with pytest.raises(StoreError, match=r"form nowhere://…; use a folder, http://…") as error:
        find_backend("nowhere://me:secret@host/calls")
    assert "secret" not in str(error.value)


def test_every_fusion_of_the_registry_ranks(encoder: SpanEncoder, tmp_path: Path) -> None:
    with Corpus(tmp_path / "s", encoder) as corpus:
        corpus.add([Document("1", "end my plan"), Document("2", "the weather is nice")])
        for fusion in FUSIONS:
            assert corpus.search("cancel my plan", fusion=fusion)[0].doc_id == "1"
        with pytest.raises(
            InputError, match="no fusion 'sum'; there are convex, rrf, cosine, server"
        ):
            corpus.search("x", fusion="sum")

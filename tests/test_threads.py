from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from threadpoolctl import ThreadpoolController

from slice_os import Corpus, Document, SpanEncoder, threads
from slice_os.threads import one_blas_thread, usable_cores


@pytest.fixture(autouse=True)
def two_blas_threads() -> Iterator[None]:
    """Workers of a parallel run have one BLAS thread, which nothing could limit."""
    threads._blas.cache_clear()  # other tests may have loaded another BLAS since
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        yield


def blas_threads() -> int:
    libraries = ThreadpoolController().select(user_api="blas").info()
    return max((library["num_threads"] for library in libraries), default=1)


def test_blas_is_limited_to_one_thread() -> None:
    before = blas_threads()
    if before == 1:
        pytest.skip("this BLAS has one thread anyway")
    with one_blas_thread():
        assert blas_threads() == 1
        with one_blas_thread():
            assert blas_threads() == 1
        assert blas_threads() == 1
    assert blas_threads() == before


def test_blas_threads_are_restored_after_an_error() -> None:
    before = blas_threads()
    with pytest.raises(RuntimeError), one_blas_thread():
        raise RuntimeError
    assert blas_threads() == before


def test_blas_threads_are_restored_after_searches_in_several_threads(
    encoder: SpanEncoder, tmp_path: Path
) -> None:
    before = blas_threads()
    with Corpus(tmp_path / "s", encoder) as corpus:
        corpus.add([Document(str(n), "Please end my plan today.") for n in range(20)])
        with ThreadPoolExecutor(4) as executor:
            found = list(executor.map(lambda _: corpus.search("cancel"), range(40)))
    assert all(hits == found[0] for hits in found)
    assert blas_threads() == before


def test_there_is_a_core() -> None:
    assert usable_cores() >= 1

"""Integer products of token vectors and phrases: as exact as their documentation says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.stores.local.snapshot import PRODUCT_ERROR, PhraseProducts


@given(
    st.sampled_from([1, 3, 8, 64, 100, 384, 1024]),
    st.integers(1, 40),
    st.integers(1, 70),
    st.integers(0, 2**32 - 1),
)
def test_are_those_of_floats(dimension: int, n_phrases: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-127, 128, (n, dimension), dtype=np.int8)
    phrases = rng.standard_normal((n_phrases, dimension)).astype(np.float32)
    phrases /= np.linalg.norm(phrases, axis=1, keepdims=True)
    product = PhraseProducts(phrases)
    expected = vectors.astype(float) @ phrases.T.astype(float)
    lengths = np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    assert (np.abs(product(vectors) * product.units - expected) <= PRODUCT_ERROR * lengths).all()


@pytest.mark.parametrize("dimension", [8, 384, 1024, 4096])
def test_do_not_overflow(dimension: int) -> None:
    vectors = np.full((2, dimension), 127, dtype=np.int8)
    vectors[1] = -127
    phrases = np.full((1, dimension), dimension**-0.5, dtype=np.float32)
    product = PhraseProducts(phrases)
    expected = 127 * dimension**0.5
    found = (product(vectors) * product.units).ravel()
    np.testing.assert_allclose(found, [expected, -expected], rtol=1e-5)


def test_of_a_zero_phrase_are_zero() -> None:
    product = PhraseProducts(np.zeros((1, 8), dtype=np.float32))
    assert not product(np.ones((3, 8), dtype=np.int8)).any()


def test_of_vectors_in_a_read_only_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("products") / "vectors"
    vectors = np.arange(-64, 64, dtype=np.int8).reshape(8, 16)
    path.write_bytes(vectors.tobytes())
    mapped = np.memmap(path, np.int8, "r", shape=(8, 16)).view(np.ndarray)
    product = PhraseProducts(np.eye(16, dtype=np.float32)[:3])
    np.testing.assert_allclose(product(mapped[2:5]) * product.units, vectors[2:5, :3], atol=1e-3)

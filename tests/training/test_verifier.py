from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recipes.verifier_parts.claim_batches import ClaimBatches
from recipes.verifier_parts.contrast_rows import ContrastRow
from recipes.verifier_parts.training import CHECKPOINT, VerifierRecipe, read_recipe, train_verifier
from slice_os import Claim, CrossEncoderVerifier, InputError, ModelError
from slice_os.encoder.alignment import Aligner
from slice_os.training.progress import Tick
from slice_os.training.run import LOG_FILE
from slice_os.verifier.bundled import log_odds
from slice_os.verifier.cross_encoder import ClaimInputs

REPOSITORY = Path(__file__).parents[2]


def contrast(phrase: str, before: str, span: str, after: str, says: bool) -> ContrastRow:
    text = before + span + after
    start, end = len(before), len(before) + len(span)
    against = () if says else ((start, start + len("no")),)
    return ContrastRow(phrase, text, start, end, says, "negation", "frames", against)


CONTRASTS = [
    row
    for animal in ("cat", "dog", "man", "woman")
    for place in ("park", "house", "river", "bank")
    for phrase in [f"the {animal} is in the {place}"]
    for row in (
        contrast(phrase, "money! ", f"{place} of the {animal}", ".", True),
        contrast(phrase, "", f"no {animal} in the {place}", ". red", False),
    )
]


@pytest.fixture(scope="module")
def recipe(tiny_model: Path) -> VerifierRecipe:
    return VerifierRecipe(
        "tiny",
        str(tiny_model),
        "MIT",
        steps=30,
        batch_pieces=256,
        learning_rate=0.01,
        save_every=10,
    )


@pytest.fixture(scope="module")
def trained(recipe: VerifierRecipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verifier") / "torch"
    train_verifier(recipe, CONTRASTS, folder)
    return folder


def export(trained: Path, precision: str) -> Path:
    pytest.importorskip("optimum.onnxruntime", reason="exporting needs the extra `export`")
    from recipes.verifier_parts.exporting import export_verifier

    folder = trained.parent / precision
    export_verifier(
        trained, folder, precision=precision, name="tiny", license_name="MIT", max_length=48
    )
    return folder


@pytest.fixture(scope="module")
def exported(trained: Path) -> Path:
    return export(trained, "fp32")


@pytest.fixture(scope="module")
def quantised(trained: Path) -> Path:
    return export(trained, "int8")


def torch_probability(folder: Path, trained: Path, claim: Claim) -> float:
    import torch
    from transformers import AutoModelForTokenClassification

    row = ClaimInputs(Aligner(folder / "tokenizer.json"), 48).row(claim)
    network = AutoModelForTokenClassification.from_pretrained(trained).eval()
    with torch.inference_mode():
        odds = network(torch.tensor([row.ids]), token_type_ids=torch.tensor([row.types])).logits
    return float(1 / (1 + np.exp(-odds.numpy()[0, 0, 0])))


LENGTHS = [
    Claim("a cat", f"{'the cat ' * n}is {place}", 0, 7)
    for n in range(1, 9)
    for place in ("red", "in the park")
]


def test_training_lowers_the_loss(trained: Path, recipe: VerifierRecipe) -> None:
    log = [json.loads(line) for line in (trained / LOG_FILE).read_text().splitlines()]
    assert [line["step"] for line in log] == list(range(1, recipe.steps + 1))
    losses = [line["loss"] for line in log]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])
    assert (trained / CHECKPOINT / "weights.safetensors").is_file()


def test_another_run_is_not_overwritten(trained: Path, recipe: VerifierRecipe) -> None:
    with pytest.raises(InputError, match="a run of another recipe"):
        train_verifier(replace(recipe, seed=1), CONTRASTS, trained)


def test_a_run_that_stopped_ends_with_the_same_weights(
    trained: Path, recipe: VerifierRecipe, tmp_path: Path
) -> None:
    from safetensors.numpy import load_file

    def stop(tick: Tick) -> None:
        if tick.done == 17:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_verifier(recipe, CONTRASTS, tmp_path, stop)
    train_verifier(recipe, CONTRASTS, tmp_path)
    once, twice = (load_file(folder / "model.safetensors") for folder in (trained, tmp_path))
    assert all(np.array_equal(once[name], twice[name]) for name in once)


def test_the_words_against_a_claim_are_learned(trained: Path, recipe: VerifierRecipe) -> None:
    losses = [json.loads(line)["against"] for line in (trained / LOG_FILE).open()]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


@pytest.fixture
def untyped_model(tiny_model: Path, tmp_path: Path) -> Path:
    """An encoder without token types."""
    from transformers import BertTokenizerFast, MPNetConfig, MPNetModel

    tokenizer = BertTokenizerFast.from_pretrained(tiny_model)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "max_position_embeddings": 128}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 2}
    network = MPNetModel(MPNetConfig(vocab_size=len(tokenizer), **sizes, **heads))
    network.save_pretrained(tmp_path / "untyped")
    tokenizer.save_pretrained(tmp_path / "untyped")
    return tmp_path / "untyped"


def test_a_teacher_needs_no_token_types(
    untyped_model: Path, recipe: VerifierRecipe, tmp_path: Path
) -> None:
    from recipes.verifier_parts.claim_network import claim_network, claim_odds, load_weights

    out = tmp_path / "torch"
    train_verifier(replace(recipe, model=str(untyped_model), steps=10), CONTRASTS, out)
    inputs = ClaimInputs(Aligner(untyped_model / "tokenizer.json"), 48)
    network = load_weights(claim_network(untyped_model, 0.0), out / "model.safetensors")
    odds = claim_odds(network, inputs, LENGTHS)
    alone = [claim_odds(network, inputs, [claim])[0] for claim in LENGTHS]
    assert odds == pytest.approx(alone, abs=1e-4)
    other = [replace(claim, start=4) for claim in LENGTHS]
    assert np.abs(claim_odds(network, inputs, other) - odds).max() > 1e-6
    part = load_weights(claim_network(untyped_model, 0.0), out / CHECKPOINT / "weights.safetensors")
    assert claim_odds(part, inputs, LENGTHS) == pytest.approx(odds)


def test_batches_keep_phrases_together(tiny_model: Path, recipe: VerifierRecipe) -> None:
    inputs = ClaimInputs(Aligner(tiny_model / "tokenizer.json"), 48)
    batches = ClaimBatches(CONTRASTS, inputs, batch_pieces=256, max_length=48, seed=0).after(0)
    rows = 0
    while rows < len(CONTRASTS):
        batch = next(batches)
        assert batch.ids.size <= 1.5 * recipe.batch_pieces
        assert np.bincount(batch.phrases).tolist() == [2] * (len(batch.ids) // 2)
        assert batch.says.tolist() == [1, 0] * (len(batch.ids) // 2)
        rows += len(batch.ids)
    assert rows == len(CONTRASTS)


class TestInputs:
    @pytest.fixture
    def inputs(self, tiny_model: Path) -> Callable[[int], ClaimInputs]:
        aligner = Aligner(tiny_model / "tokenizer.json")
        return lambda length: ClaimInputs(aligner, length)

    def test_mark_the_words_of_the_hit(self, inputs: Callable[[int], ClaimInputs]) -> None:
        text = "the dog is red and the cat is blue"
        start = text.index("the cat")
        row = inputs(40).row(Claim("a cat", text, start, start + len("the cat")))
        plain = inputs(40).row(Claim("a cat", "the cat", 0, 7))
        of_hit = [one for one, kind in zip(row.ids, row.types, strict=True) if kind == 1]
        assert of_hit == plain.ids[4:6]

    @pytest.mark.parametrize("place", [0, 10, 19])
    def test_keep_the_hit_of_a_long_sentence(
        self, inputs: Callable[[int], ClaimInputs], place: int
    ) -> None:
        words = ["dog"] * 20
        words[place] = "cat"
        start = sum(len(word) + 1 for word in words[:place])
        claim = Claim("a cat", " ".join(words), start, start + 3)
        row = inputs(16).row(claim)
        assert len(row.ids) == 16
        assert sum(row.types) == 1

    def test_cut_a_long_phrase_and_hit(self, inputs: Callable[[int], ClaimInputs]) -> None:
        text = " ".join(["dog"] * 60)
        row = inputs(24).row(Claim(text, text, 0, len(text)))
        assert len(row.ids) == 24
        assert 0 < sum(row.types) < 24


class TestVerifier:
    def test_says_what_torch_says(self, exported: Path, trained: Path) -> None:
        claim = Claim("the cat is in the park", "no cat in the park", 0, 18)
        expected = torch_probability(exported, trained, claim)
        verdict = CrossEncoderVerifier(exported, threads=1).check([claim])[0]
        assert verdict.probability == pytest.approx(expected, abs=1e-4)

    @pytest.mark.parametrize("row", [CONTRASTS[0], CONTRASTS[1], CONTRASTS[-1]])
    def test_says_nearly_so_in_int8(self, quantised: Path, trained: Path, row: ContrastRow) -> None:
        claim = Claim(row.phrase, row.text, row.start, row.end)
        verdict = CrossEncoderVerifier(quantised, threads=1).check([claim])[0]
        assert log_odds(verdict.probability) == pytest.approx(
            log_odds(torch_probability(quantised, trained, claim)), abs=1
        )

    @settings(max_examples=10, deadline=None)
    @given(claims=st.lists(st.sampled_from(LENGTHS), max_size=24), threads=st.integers(1, 3))
    @pytest.mark.parametrize("precision", ["exported", "quantised"])
    def test_judges_each_claim_by_itself(
        self, request: pytest.FixtureRequest, precision: str, claims: list[Claim], threads: int
    ) -> None:
        folder = request.getfixturevalue(precision)
        together = CrossEncoderVerifier(folder, threads=threads).check(claims)
        single = CrossEncoderVerifier(folder, threads=1)
        alone = [single.check([claim])[0] for claim in claims]
        odds = [[log_odds(one.probability) for one in some] for some in (together, alone)]
        assert odds[0] == pytest.approx(odds[1], abs=1e-4)
        assert [one.reasons for one in together] == [one.reasons for one in alone]

    def test_refuses_what_changed_or_is_damaged(self, exported: Path, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="no verifier at"):
            CrossEncoderVerifier(tmp_path)
        folder = tmp_path / "copy"
        folder.mkdir()
        for file in exported.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        card = json.loads((folder / "verifier.json").read_text())
        for field, value, message in (
            ("max_length", 9, "give a number from 16 to 512"),
            ("batch_pieces", 0, "give a number from 1 to"),
            ("batch_pieces", 1.5, "give a whole number"),
            ("name", 3, "give a text"),
        ):
            (folder / "verifier.json").write_text(json.dumps({**card, field: value}))
            with pytest.raises(ModelError, match=message):
                CrossEncoderVerifier(folder)
        (folder / "verifier.json").write_text(json.dumps({**card, "verifier_id": "0" * 16}))
        with pytest.raises(ModelError, match="changed since export"):
            CrossEncoderVerifier(folder)


class TestRecipe:
    def test_of_the_repository(self) -> None:
        recipe = read_recipe(REPOSITORY / "recipes" / "verifiers" / "slice-verify.toml")
        assert recipe.name == "slice-verify"
        assert recipe.rate(recipe.steps) == 0
        assert recipe.rate(recipe.warmup) == pytest.approx(recipe.learning_rate)

    def test_is_checked(self, tmp_path: Path) -> None:
        path = tmp_path / "recipe.toml"
        path.write_text('name = "x"\nmodel = "y"\nlicense = "MIT"\nsteps = 0\n')
        with pytest.raises(InputError, match="steps is 0; give 1 or more"):
            read_recipe(path)

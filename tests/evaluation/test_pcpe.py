from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

from slice_os import InputError, ModelError
from slice_os.cli import cli
from slice_os.evaluation.encoders.causal import CausalEncoder, CausalModel, build_prompt
from slice_os.evaluation.encoders.span_vectors import InContext
from slice_os.evaluation.registry import open_encoder

from .commands import run_harness

pytest.importorskip("torch")
pytest.importorskip("transformers")

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = [
    "The guard leaves her to prevent the robbery at the bank's network.",
    "They paid the full sum, in cash; nobody could explain the grave error.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from .tiny_models import make_causal

    return make_causal(tmp_path_factory.mktemp("tiny") / "tiny-gpt", TEXTS)


@pytest.fixture(scope="module")
def model(folder: Path) -> CausalModel:
    return CausalModel(str(folder))


def test_the_prompts_are_the_papers() -> None:
    assert build_prompt("phrase", "grave error", TEXTS[1]) == (
        'Instruct: Answer the query\nQuery: \nDefine "grave error"'
    )
    assert build_prompt("context", "grave error", "A grave error.") == (
        "Instruct: Answer the query given the short article: A grave error.\n"
        'Query: \nDefine "grave error"'
    )
    assert build_prompt("eol", "grave error", "A grave error.") == (
        "Instruct: Answer the query given the short article: A grave error.\n"
        'Query: \nDefine "grave error" in one word: "'
    )
    assert build_prompt("eol", "grave {error}") == (
        'Instruct: Answer the query\nQuery: \nDefine "grave {error}" in one word: "'
    )


def hidden_states(folder: Path, prompt: str) -> Any:
    import torch
    from transformers import AutoModel, AutoTokenizer

    network, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        return network(**inputs).last_hidden_state[0].numpy()


def test_a_vector_is_the_last_hidden_state_of_the_last_token(
    folder: Path, model: CausalModel
) -> None:
    prompts = [build_prompt("eol", "grave error", text) for text in (*TEXTS, "Short.")]
    vectors = model.last_vectors(prompts)
    for prompt, vector in zip(prompts, vectors, strict=True):
        np.testing.assert_allclose(vector, hidden_states(folder, prompt)[-1], rtol=0, atol=1e-5)


def test_vectors_do_not_depend_on_what_else_is_asked(model: CausalModel) -> None:
    encoder = CausalEncoder(model, "eol")
    phrases = ["sum", "the full sum that they paid", "grave error"]
    together = encoder.phrases(phrases)
    alone = np.concatenate([encoder.phrases([phrase]) for phrase in phrases])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)


def test_only_two_of_the_prompts_see_the_context(model: CausalModel) -> None:
    for prompt, sees in (("phrase", False), ("context", True), ("eol", True)):
        encoder = CausalEncoder(model, prompt)
        first, second = encoder.phrases(
            [InContext("full sum", context) for context in (TEXTS[1], "A full sum of it.")]
        )
        assert np.allclose(first, second, atol=1e-5) != sees


def test_it_is_an_encoder_by_specification(folder: Path) -> None:
    encoder = open_encoder(f"pcpe:{folder}")
    assert encoder.name == "pcpe:tiny-gpt:eol"
    assert encoder.representation == "whole"
    other = open_encoder(f"mine=pcpe:{folder}:phrase")
    assert other.name == "mine"
    assert other.identity != encoder.identity
    assert encoder.phrases(["a sum", "an error"]).shape == (2, 32)
    assert encoder.cost.passes == 2
    with pytest.raises(InputError, match="none of their tokens"):
        next(iter(encoder.tokens(TEXTS)))


def test_a_prompt_that_is_too_long_is_refused(model: CausalModel) -> None:
    with pytest.raises(InputError, match="longer than the 256 that tiny-gpt reads"):
        CausalEncoder(model, "eol").phrases([InContext("sum", " ".join(TEXTS * 9))])


def test_an_encoder_whose_tokens_see_all_others_is_refused(tmp_path: Path) -> None:
    from .tiny_models import make_encoder

    with pytest.raises(ModelError, match="no causal language model"):
        open_encoder(f"pcpe:{make_encoder(tmp_path / 'tiny-bert', TEXTS)}")


def rows(texts: Sequence[str]) -> list[dict[str, str]]:
    return [
        {
            "phrase1": phrase,
            "phrase2": other,
            "sentence1": text,
            "sentence2": text.replace(phrase, other),
            "label": label,
        }
        for text, phrase in zip(texts, ("robbery", "grave error"), strict=True)
        for other, label in (("theft of it", "positive"), ("loud noise", "negative"))
    ]


def test_the_three_prompts_are_measured_beside_the_encoders(folder: Path, tmp_path: Path) -> None:
    for split in ("train", "dev"):
        (tmp_path / f"ps_{split}.json").write_text(json.dumps(rows(TEXTS)))
    found = run_harness("pcpe", "--data", tmp_path, "--model", folder)["rows"]
    assert [(row["encoder"], row["setting"], row["prompt"]) for row in found] == [
        ("slice-mini", "phrase", None),
        ("slice-mini", "phrase-in-context", None),
        ("tiny-gpt", "phrase", "phrase"),
        ("tiny-gpt", "phrase-in-context", "context"),
        ("tiny-gpt", "phrase-in-context", "eol"),
    ]
    assert all(0 <= row["accuracy"] <= 1 for row in found)


def test_a_limit_that_leaves_one_label_is_refused(tmp_path: Path) -> None:
    by_label = sorted(rows(TEXTS), key=lambda row: row["label"])
    for split in ("train", "dev"):
        (tmp_path / f"ps_{split}.json").write_text(json.dumps(by_label))
    with pytest.raises(InputError, match="the first 2 pairs of train have one label"):
        run_harness("pcpe", "--data", tmp_path, "--limit", "2")


@pytest.mark.parametrize("cached", [True, False])
def test_other_harnesses_take_it_as_an_encoder(folder: Path, tmp_path: Path, cached: bool) -> None:
    for split in ("train", "dev"):
        (tmp_path / f"ps_{split}.json").write_text(json.dumps(rows(TEXTS)))
    arguments = ["eval", "pic-ps", "--data", str(tmp_path), "--encoder", f"pcpe:{folder}"]
    where = ["--cache", str(tmp_path / "cache")] if cached else ["--no-cache"]
    result = CliRunner().invoke(cli, [*arguments, *where, "--json"])
    assert result.exit_code == 0, result.output or result.exception
    found = json.loads(result.stdout)["rows"]
    assert [row["setting"] for row in found] == ["phrase", "phrase-in-context"]

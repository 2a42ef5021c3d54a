"""Recipes that train or convert networks run at their smallest."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipes.verifier_parts.contrast_rows import read_rows
from slice_os import SpanEncoder
from tests.test_scripts import contrasts, data, place, run_script, store, whole

__all__ = ["contrasts", "data", "place", "store", "whole"]

pytestmark = [pytest.mark.slow, pytest.mark.release]


@pytest.fixture(scope="module")
def encoder() -> SpanEncoder:
    """The bundled model."""
    return SpanEncoder()


def test_a_verifier_is_trained_and_exported(place: Path, contrasts: Path, tiny_model: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    recipe = "recipes/verifiers/slice-verify.toml"
    run_script(
        f"recipes/verifier.py {recipe} {contrasts} trained --model {tiny_model} --steps 1", place
    )
    assert (place / "trained" / "verifier" / "model.onnx").is_file()


@pytest.mark.large
def test_a_teacher_reads_rows_and_finds_others(
    place: Path, data: Path, contrasts: Path, tiny_model: Path
) -> None:
    recipe = "recipes/verifiers/slice-verify-teacher.toml"
    run_script(
        f"recipes/verifier.py {recipe} {contrasts} teacher --model {tiny_model} --steps 1", place
    )
    run_script(
        f"recipes/taught_rows.py {data} teacher/torch {contrasts} {contrasts} taught.jsonl "
        "--written 20 --contrast-rows 20 --share 0.02",
        place,
    )
    rows = list(read_rows(place / "taught.jsonl"))
    assert all(row.taught is not None for row in rows)
    assert any(row.source == "unread-contracts" for row in rows)
    assert any(not row.source.startswith("unread-") for row in rows)


def test_a_network_comes_back_from_its_onnx_file(place: Path, tiny_model: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    import torch
    from transformers import BertModel

    network = BertModel.from_pretrained(tiny_model, add_pooling_layer=False).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)  # an export would merge equal ones
    ids = torch.ones(1, 4, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        network,
        (ids, ids, ids - 1),
        str(place / "tiny.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "n", 1: "length"} for name in names},
        dynamo=False,
    )
    tokenizer = tiny_model / "tokenizer.json"
    run_script(f"recipes/bert_from_onnx.py tiny.onnx {tokenizer} tiny --heads 2", place)
    assert (place / "tiny" / "model.safetensors").is_file()

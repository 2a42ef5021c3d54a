"""A tiny random encoder, made on the spot, and small data in every format."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("torch", reason="training needs the extra `train`")
pytest.importorskip("transformers", reason="training needs the extra `train`")
pytest.importorskip("accelerate", reason="training needs the extra `train`")

WORDS = (
    *("the", "a", "cat", "dog", "man", "woman", "is", "was", "sleeping", "running", "playing"),
    *("guitar", "piano", "mat", "park", "quickly", "slowly", "bank", "river", "money", "water"),
    *("stone", "big", "small", "house", "and", "that", "in", "on", "of", "with", "near", "red"),
    *("blue", "paid", "went"),
)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    digits = list("0123456789.,!?'")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters, *digits]
    pieces += [f"##{letter}" for letter in (*letters, *"0123456789")]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(pieces)))
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"))
    torch.manual_seed(0)
    network = BertModel(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=128,
        )
    )
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def make_encoder(tiny_model: Path):
    from slice_os.encoder.hugging_face import load_encoder
    from slice_os.training.training_encoder import TrainingEncoder

    def make(chunk: int = 0) -> TrainingEncoder:
        loaded = load_encoder(str(tiny_model))
        return TrainingEncoder(loaded.network, loaded.tokenizer, max_pieces=120, chunk=chunk)

    return make


@pytest.fixture
def encoder(make_encoder):
    return make_encoder()


def sentence(rng: Random, count: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(count))


def write_data(folder: Path) -> Path:
    """Make a folder of small data files."""
    rng = Random(0)
    folder.mkdir()

    def lines(name: str, rows: list[dict]) -> None:
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    lines("texts.jsonl", [{"text": f"{sentence(rng, 12)}. {sentence(rng, 9)}."} for _ in range(20)])
    lines(
        "triples.jsonl",
        [
            {
                "query": sentence(rng, 3),
                "positive": sentence(rng, 12),
                "negatives": [sentence(rng, 12), sentence(rng, 8)],
            }
            for _ in range(12)
        ],
    )
    (folder / "sts.csv").write_text(
        "".join(
            f"{sentence(rng, 5)},{sentence(rng, 5)},{rng.randint(0, 50) / 10}\n" for _ in range(24)
        )
    )
    lines(
        "wordnet.jsonl",
        [
            {
                "pos": "n",
                "members": ["bank", "river bank"],
                "definition": ["land near a river"],
                "examples": ["the man went near the bank", "banks of stone and water"],
            },
            {
                "pos": "n",
                "members": ["bank", "money house"],
                "definition": ["a house of money"],
                "examples": ["the woman paid the bank", {"text": "a big bank paid the man"}],
            },
        ],
    )
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


RECIPE = """
name = "tiny"
model = "{model}"
max_pieces = 120

[data.texts]
format = "texts-jsonl"
files = ["texts.jsonl"]

[data.triples]
format = "triples-jsonl"
files = ["triples.jsonl"]

[data.sts]
format = "sts-csv"
files = ["sts.csv"]
place_in = "texts"

[data.substitutes]
format = "wordnet-substitutes"
files = ["wordnet.jsonl"]

[data.senses]
format = "wordnet-senses"
files = ["wordnet.jsonl"]

[dev]
pairs = "sts"
substitutions = "substitutes"
every = 4
limit = 8

[[stages]]
name = "first"
steps = {steps}
warmup = 2
learning_rate = 1e-3
freeze = []
dropout = true
save_every = 3
{stage}

[[stages.objectives]]
kind = "slice"
data = ["triples"]
batch = 3

[[stages.objectives]]
kind = "in-batch"
data = ["triples"]
batch = 4
negatives = 2

[[stages.objectives]]
kind = "distillation"
data = ["texts"]
batch = 3
spans = 4
dimensions = [16, 8]

[[stages.objectives]]
kind = "contextual"
data = ["substitutes"]
batch = 2

[[stages.objectives]]
kind = "senses"
data = ["senses"]
batch = 2

[[stages.objectives]]
kind = "graded"
data = ["sts"]
batch = 4
"""


def write_recipe(folder: Path, model: Path, steps: int = 6, stage: str = "") -> Path:
    path = folder / f"recipe-{steps}.toml"
    path.write_text(RECIPE.format(model=model, steps=steps, stage=stage))
    return path


@pytest.fixture
def recipe(tmp_path: Path, tiny_model: Path):
    return partial(write_recipe, tmp_path, tiny_model)

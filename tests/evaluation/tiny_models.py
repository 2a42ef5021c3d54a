"""Very small models with random weights, made on the spot: real except for what they know."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def make_causal(folder: Path, texts: Iterable[str]) -> Path:
    """A GPT-2 of two layers and a byte-level tokenizer trained on some texts."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2Model, PreTrainedTokenizerFast

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(texts, vocab_size=400, show_progress=False)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer).save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=400, n_embd=32, n_layer=2, n_head=2, n_positions=256, initializer_range=0.3
    )
    GPT2Model(config).save_pretrained(folder)
    return folder


def make_encoder(folder: Path, texts: Iterable[str]) -> Path:
    """A BERT of two layers that reads 64 pieces, and a tokenizer of whole words."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from tokenizers.processors import BertProcessing
    from transformers import BertConfig, BertModel, BertTokenizerFast

    tokenizer = BertWordPieceTokenizer()
    tokenizer.train_from_iterator(texts, vocab_size=400, min_frequency=1, show_progress=False)
    tokenizer.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    BertTokenizerFast(tokenizer_object=tokenizer._tokenizer).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=400,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    return folder

"""Networks that read claims: any encoder of Hugging Face, and their log-odds without an export."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModelForTokenClassification

from slice_os.encoder.alignment import Aligner
from slice_os.encoder.hugging_face import load_encoder
from slice_os.encoder.model_folder import TOKENIZER_FILE
from slice_os.encoder.token_model import pad
from slice_os.verifier.claims import Claim
from slice_os.verifier.cross_encoder import AGAINST, ClaimInputs

from .odds import Reads

BATCH = 32
WEIGHTS = "model.safetensors"


class TypedNetwork(nn.Module):  # type: ignore[misc]
    """An encoder that has no token types, such as MPNet, with a vector added to words of the hit.

    At first the vector is zero.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.classifier_types = nn.Parameter(torch.zeros(network.config.hidden_size))

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.classifier_types.device

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """The outputs of the network."""
        words = self.network.get_input_embeddings()(input_ids)
        words = words + token_type_ids[:, :, None] * self.classifier_types
        return self.network(inputs_embeds=words, attention_mask=attention_mask)

    def save_pretrained(self, folder: Path, **_: Any) -> None:
        """Write all weights; they belong to no class of transformers."""
        save_file(self.state_dict(), folder / WEIGHTS)


def claim_network(folder: Path, dropout: float) -> Any:
    """The network of an encoder's folder, with new outputs for claims."""
    dropouts = {f"{where}_dropout_prob": dropout for where in ("hidden", "attention_probs")}
    network = AutoModelForTokenClassification.from_pretrained(
        folder,
        num_labels=2 + len(AGAINST),
        local_files_only=True,
        dtype=torch.float32,
        # In bfloat16 on a CPU a third faster than the fused kernel.
        attn_implementation="eager",
        **dropouts,
    )
    return network if getattr(network.config, "type_vocab_size", 0) > 1 else TypedNetwork(network)


def load_weights(network: Any, path: Path) -> Any:
    """The network with the weights of a file, such as that of a checkpoint, ready to read."""
    missing, unknown = network.load_state_dict(load_file(path), strict=False)
    # Word embeddings are frozen, and a checkpoint leaves them out.
    if unknown or any("word_embeddings" not in name for name in missing):
        raise ValueError(f"{path}: weights of another network, such as {[*unknown, *missing][0]}")
    return network.eval()


def claim_odds(
    network: Any, inputs: ClaimInputs, claims: Sequence[Claim], bf16: bool = False
) -> np.ndarray:
    """``(n,)`` log-odds that claims hold."""
    odds = np.zeros(len(claims), np.float32)
    rows = [inputs.row(claim) for claim in claims]
    order = np.argsort([len(row.ids) for row in rows])
    device = network.device
    for first in range(0, len(claims), BATCH):
        chosen = order[first : first + BATCH]
        ids, mask = pad([rows[number].ids for number in chosen])
        types, _ = pad([rows[number].types for number in chosen])
        tensors = [torch.from_numpy(one).to(device) for one in (ids, mask, types)]
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            odds[chosen] = network(*tensors).logits[:, 0, 0].float().cpu().numpy()
    return odds


def trained_odds(run: Path) -> Reads:
    """The network of a run, without an export."""
    recipe = json.loads((run / "recipe.json").read_text(encoding="utf-8"))
    base = claim_network(load_encoder(recipe["model"]).folder, 0.0)
    network = load_weights(base, run / WEIGHTS)
    inputs = ClaimInputs(Aligner(run / TOKENIZER_FILE), recipe["max_length"])
    return lambda claims: claim_odds(network, inputs, claims, recipe["bf16"]).tolist()

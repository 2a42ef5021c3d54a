"""Phrases through the prompts of a causal language model (PCPE, Tsakam 2025).

The model is prompted to define a phrase, with or without its context. The last layer's vector of
the prompt's final token stands for the phrase. The third prompt requests one word, as PromptEOL
does (Jiang et al., 2023).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.hugging_face import load_encoder
from slice_os.encoder.token_model import pad, plan_batches
from slice_os.errors import InputError, ModelError
from slice_os.evaluation.encoders.model_encoder import TorchEngine
from slice_os.evaluation.encoders.span_vectors import InContext
from slice_os.evaluation.encoders.text_encoder import Cost, EncoderSpec, TextEncoder

PROMPTS = ("phrase", "context", "eol")
BATCH_TOKENS = 4_096


def build_prompt(prompt: str, phrase: str, context: str | None = None) -> str:
    """The text that the model reads: one of the three cases of the paper (PCPE, figure 1).

    ``phrase`` never has a context; ``context`` and ``eol`` leave it out if there is none.
    """
    with_context = context is not None and prompt != "phrase"
    given = f" given the short article: {context}" if with_context else ""
    ending = ' in one word: "' if prompt == "eol" else ""
    return f'Instruct: Answer the query{given}\nQuery: \nDefine "{phrase}"{ending}'


class CausalModel:
    """A causal language model with its tokenizer: prompts in, vectors of their last tokens out."""

    def __init__(self, model: str) -> None:
        loaded = load_encoder(model)
        self.name = loaded.name
        self.identity = loaded.weights_hash()
        self.cost = Cost()
        self._engine = TorchEngine(loaded.network)
        self._dimension = loaded.dimension
        self._tokenizer = loaded.plain_tokenizer()
        self._tokenizer.encode_special_tokens = True
        self._max_length = loaded.max_length
        ids = self._tokenizer.encode(build_prompt("phrase", "a phrase")).ids
        whole, part = self._run([ids])[0], self._run([ids[:-1]])[0]
        if not np.allclose(whole[:-1], part, atol=1e-3, rtol=1e-3):
            raise ModelError(
                f"{self.name!r} is no causal language model: its tokens see the ones after them; "
                "give it as an encoder, without pcpe:"
            )

    def last_vectors(self, prompts: Sequence[str]) -> FloatArray:
        """The last hidden state of each prompt's final token, ``(n_prompts, dimension)``."""
        start = time.perf_counter()
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(prompts))]
        for prompt, row in zip(prompts, ids, strict=True):
            if len(row) > self._max_length:
                raise InputError(
                    f"a prompt of {len(row)} tokens ({prompt[:40]!r}…) is longer than the "
                    f"{self._max_length} that {self.name} reads; give shorter contexts"
                )
        vectors = np.zeros((len(ids), self._dimension), dtype=np.float32)
        for batch in plan_batches([len(row) for row in ids], BATCH_TOKENS):
            hidden = self._run([ids[index] for index in batch])
            last = [len(ids[index]) - 1 for index in batch]
            vectors[batch] = hidden[np.arange(len(batch)), last]
        tokens = sum(map(len, ids))
        self.cost += Cost(len(ids), tokens, time.perf_counter() - start)
        return vectors

    def _run(self, rows: Sequence[Sequence[int]]) -> FloatArray:
        # Tokens only look back, so padding after them changes nothing.
        return self._engine.run(*pad(rows))


class CausalEncoder(TextEncoder):
    """A causal language model with one of the `PROMPTS`, as an encoder of phrases."""

    representation = "whole"

    def __init__(self, model: CausalModel, prompt: str, name: str | None = None) -> None:
        self.name = name or f"pcpe:{model.name}:{prompt}"
        self.identity = f"pcpe-{model.identity}-{prompt}"
        self._model = model
        self._prompt = prompt

    @property
    def cost(self) -> Cost:
        return self._model.cost

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """Each text is the phrase, with its context if `InContext`."""
        parts = [
            (one.phrase, one.context) if isinstance(one, InContext) else (one,) for one in texts
        ]
        return self._model.last_vectors([build_prompt(self._prompt, *one) for one in parts])

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """Raises `InputError`: a prompt gives one vector, not one for each token."""
        raise InputError(f"{self.name} has vectors of whole phrases only, none of their tokens")


def open_causal(spec: EncoderSpec) -> CausalEncoder:
    """Open ``pcpe:MODEL[:PROMPT]``; the default prompt is ``eol``."""
    model, _, prompt = spec.model.rpartition(":")
    if not model or prompt not in PROMPTS:
        model, prompt = spec.model, "eol"
    return CausalEncoder(CausalModel(model), prompt, spec.label)

"""Span selection: a start and end head on an encoder, fine-tuned to answer PiC's queries.

As PiC describes it (section 5.4 and appendix B), after Devlin et al. (2019): a linear layer over
"[CLS] query [SEP] document [SEP]" predicts where the answer starts and ends; long documents are
read in overlapping windows.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.datasets.span_sets import Span
from slice_os.encoder.hugging_face import find_folder, one_line
from slice_os.errors import InputError, ModelError, imported
from slice_os.evaluation.harness import Progress, quiet
from slice_os.evaluation.pic.phrase_files import PhraseQuestion

EPOCHS, BATCH, LEARNING_RATE = 2, 8, 3e-5
MAX_LENGTH, LONGEST, STRIDE = 512, 4_096, 128
MAX_ANSWER_TOKENS = 30


@dataclass(frozen=True, slots=True)
class Window:
    """A query and a part of its document: one input of the model, ``(length,)`` by name.

    ``offsets`` are ``(length, 2)`` code points in the document, -1 for a token outside of it;
    ``target`` is the first and last token of the answer, (0, 0) if the window lacks a part of it.
    """

    question: int
    inputs: dict[str, IntArray]
    offsets: IntArray
    target: tuple[int, int]


class SpanSelector:
    """A Hugging Face encoder with a head for start and end; seeded weights, dropout and order."""

    def __init__(self, model: str, seed: int = 0) -> None:
        torch = imported("torch", "Span selection", "train")
        transformers = imported("transformers", "Span selection", "train")
        logging = transformers.utils.logging
        folder = find_folder(model)
        torch.manual_seed(seed)
        # transformers would warn that the head is untrained, which is intended.
        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()
        try:
            network = transformers.AutoModelForQuestionAnswering.from_pretrained(
                folder, dtype=torch.float32
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        except Exception as error:  # the library raises many kinds
            reason = one_line(error)
            raise ModelError(f"cannot load {model!r} with a start and end head: {reason}") from None
        finally:
            logging.set_verbosity(verbosity)
        if not tokenizer.is_fast:
            raise ModelError(f"{model!r} has no fast tokenizer (tokenizer.json), so no offsets")
        self.name = model.rstrip("/").rpartition("/")[2]
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._network: Any = network.to(self._device)
        self._tokenizer = tokenizer
        self._length = _input_length(network.config, tokenizer.model_max_length)

    def train(
        self,
        questions: Sequence[PhraseQuestion],
        dev: Sequence[PhraseQuestion] = (),
        epochs: int = EPOCHS,
        progress: Progress = quiet,
    ) -> None:
        """Fine-tune both by Adam (3e-5), batches of 8; keep the epoch with the least dev loss."""
        torch = self._torch
        windows, dev_windows = self._windows(questions), self._windows(dev)
        optimizer = torch.optim.Adam(self._network.parameters(), lr=LEARNING_RATE)
        total, done = epochs * -(-len(windows) // BATCH), 0
        best: tuple[float, Any] | None = None
        for _ in range(epochs):
            self._network.train()
            for rows in torch.randperm(len(windows)).split(BATCH):
                loss = self._forward([windows[row] for row in rows.tolist()]).loss
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                done += 1
                progress(f"training {self.name}", done, total)
            self._network.eval()
            if dev_windows:
                outputs = self._outputs(dev_windows)
                loss = float(
                    np.mean([output.loss.item() for batch, output in outputs for _ in batch])
                )
                if best is None or loss < best[0]:
                    best = loss, copy.deepcopy(self._network.state_dict())
        if best is not None:
            self._network.load_state_dict(best[1])

    def answer(self, questions: Sequence[PhraseQuestion], progress: Progress = quiet) -> list[Span]:
        """The span of at most 30 tokens with the highest sum of start and end score."""
        self._network.eval()
        windows = self._windows(questions)
        best: list[tuple[float, Span]] = [(-np.inf, (0, 0))] * len(questions)
        done = 0
        for batch, output in self._outputs(windows):
            starts, ends = output.start_logits.cpu().numpy(), output.end_logits.cpu().numpy()
            for window, start, end in zip(batch, starts, ends, strict=True):
                found = _best_place(window.offsets, start, end)
                best[window.question] = max(best[window.question], found)
            done += len(batch)
            progress(f"answering by {self.name}", done, len(windows))
        return [place for _, place in best]

    def _outputs(self, windows: Sequence[Window]) -> Iterator[tuple[Sequence[Window], Any]]:
        for first in range(0, len(windows), BATCH):
            batch = windows[first : first + BATCH]
            with self._torch.inference_mode():
                output = self._forward(batch)
            yield batch, output

    def _forward(self, windows: Sequence[Window]) -> Any:
        names = windows[0].inputs
        inputs = {name: np.stack([window.inputs[name] for window in windows]) for name in names}
        longest = int(inputs["attention_mask"].sum(axis=1).max())
        arrays = {name: values[:, :longest] for name, values in inputs.items()}
        targets = np.array([window.target for window in windows])
        arrays |= {"start_positions": targets[:, 0], "end_positions": targets[:, 1]}
        return self._network(
            **{name: self._torch.tensor(part).to(self._device) for name, part in arrays.items()}
        )

    def _windows(self, questions: Sequence[PhraseQuestion]) -> list[Window]:
        windows = []
        for number, question in enumerate(questions):
            encoded = self._tokenizer(
                question.query,
                question.context,
                truncation="only_second",
                max_length=self._length,
                stride=min(STRIDE, self._length // 4),
                padding="max_length",
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
            )
            for index, pairs in enumerate(encoded["offset_mapping"]):
                of_document = np.array([part == 1 for part in encoded.sequence_ids(index)])
                offsets = np.where(of_document[:, None], np.array(pairs), -1)
                inputs = {
                    name: np.array(encoded[name][index], dtype=np.int64)
                    for name in self._tokenizer.model_input_names
                }
                windows.append(Window(number, inputs, offsets, _target(offsets, question)))
        return windows


def without(
    questions: Sequence[PhraseQuestion], tested: Sequence[PhraseQuestion]
) -> list[PhraseQuestion]:
    """The questions to train on: all that are not tested."""
    seen = {(one.query, one.context) for one in tested}
    left = [one for one in questions if (one.query, one.context) not in seen]
    if not left:
        raise InputError(
            "span selection has no question to train on that is not also tested; "
            "give the train split: --train FILE"
        )
    return left


def _target(offsets: IntArray, question: PhraseQuestion) -> tuple[int, int]:
    begin, end = question.place
    starts, ends = offsets.T
    tokens = np.flatnonzero((starts >= 0) & (ends > begin) & (starts < end))
    if not len(tokens) or starts[tokens[0]] > begin or ends[tokens[-1]] < end:
        return 0, 0
    return int(tokens[0]), int(tokens[-1])


def _best_place(offsets: IntArray, start: FloatArray, end: FloatArray) -> tuple[float, Span]:
    tokens = np.flatnonzero((offsets[: len(start), 0] >= 0) & (offsets[: len(start), 1] > 0))
    sums = start[tokens][:, None] + end[tokens][None, :]
    gaps = tokens[None, :] - tokens[:, None]
    sums[(gaps < 0) | (gaps >= MAX_ANSWER_TOKENS)] = -np.inf
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    place = int(offsets[tokens[first], 0]), int(offsets[tokens[last], 1])
    return float(sums[first, last]), place


def _input_length(config: Any, tokenizer_limit: int) -> int:
    """Pieces of a window: 512, or 4,096 for models of long texts (appendix B), or what fits."""
    positions = getattr(config, "max_position_embeddings", MAX_LENGTH)
    wanted = LONGEST if positions > LONGEST else MAX_LENGTH
    return int(min(wanted, positions, tokenizer_limit))

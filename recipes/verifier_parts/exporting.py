"""Export of a verifier: from a torch cross-encoder to a verifier folder that agrees with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson

from slice_os.encoder.alignment import Aligner
from slice_os.encoder.hugging_face import load_encoder
from slice_os.encoder.model_folder import MODEL_FILE, TOKENIZER_FILE, content_id
from slice_os.encoder.token_model import OnnxRuntimeEngine
from slice_os.errors import ModelError, imported
from slice_os.export.exporter import OPTIMUM, PARITY_FILE, appearing, provenance, quiet
from slice_os.export.graph import CLAIM_RECIPES, CLAIMS, write_graph
from slice_os.export.parity import CALIBRATION_TEXT, PARITY_TEXT, Feeds, bundled_passages
from slice_os.text.sentences import sentence_ends
from slice_os.verifier.claims import Claim
from slice_os.verifier.cross_encoder import VERIFIER_FILE, ClaimInputs, VerifierCard

MAX_DIFFERENCE = {"fp32": 1e-3, "int8": 1.0}
MEAN_DIFFERENCE = {"fp32": 1e-4, "int8": 0.25}
# Eight claims of ordinary length; more are no faster.
BATCH_PIECES = 192


@dataclass(frozen=True, slots=True)
class VerifierParity:
    """Log-odds of an exported verifier beside those of torch, on claims of the bundled text.

    The differences are absolute; ``spread`` is the standard deviation of torch's log-odds.
    """

    precision: str
    claims: int
    mean_difference: float
    max_difference: float
    spread: float

    def require(self) -> None:
        """Raise `ModelError` if the differences are beyond the limits."""
        limits = MEAN_DIFFERENCE[self.precision], MAX_DIFFERENCE[self.precision]
        if not (self.mean_difference <= limits[0] and self.max_difference <= limits[1]):
            raise ModelError(
                f"no parity: the {self.precision} verifier's log-odds differ from torch's by "
                f"{self.mean_difference:.3f} on average and {self.max_difference:.3f} at most "
                f"({limits[0]} and {limits[1]} allowed); nothing was written"
            )


def export_verifier(
    model: str | Path,
    out: str | Path,
    *,
    precision: str = "int8",
    name: str,
    license_name: str,
    max_length: int,
) -> VerifierParity:
    """Export a cross-encoder as a verifier folder, if the result agrees with torch.

    The model is a Hugging Face folder, as `train_verifier` writes it; the longest
    input counts special tokens. Precision is ``fp32`` or ``int8``.

    Raises:
        MissingExtraError: without the extra ``export``.
        ModelError: if the model cannot be exported, ``out`` exists, or parity fails.
    """
    if precision not in MAX_DIFFERENCE:
        raise ModelError(f"no precision {precision!r}; there are {', '.join(MAX_DIFFERENCE)}")
    imported(*OPTIMUM)
    import torch
    from transformers import AutoModelForTokenClassification

    target = Path(out)
    if target.exists():
        raise ModelError(f"{target}: exists; choose another folder")
    with quiet(), appearing(target) as folder:
        source = load_encoder(str(model))
        network = AutoModelForTokenClassification.from_pretrained(
            source.folder, local_files_only=True, dtype=torch.float32
        ).eval()
        source.plain_tokenizer().save(str(folder / TOKENIZER_FILE))
        inputs = ClaimInputs(Aligner(folder / TOKENIZER_FILE), max_length)
        typical = [_feeds(inputs, claim) for claim in _claims(CALIBRATION_TEXT)]
        write_graph(network, precision, typical, folder / MODEL_FILE, CLAIMS)
        others = [_feeds(inputs, claim) for claim in _claims(PARITY_TEXT)]
        with torch.inference_mode():
            expected = [
                network(**{key: torch.from_numpy(ids) for key, ids in one.items()}).logits[0, 0, 0]
                for one in others
            ]
        engine = OnnxRuntimeEngine(folder / MODEL_FILE)
        found = np.array([engine.run(*one.values())[0, 0, 0] for one in others])
        differences = np.abs(found - np.array(expected))
        report = VerifierParity(
            precision,
            len(expected),
            mean_difference=float(differences.mean()),
            max_difference=float(differences.max()),
            spread=float(np.std(expected)),
        )
        report.require()
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        (folder / PARITY_FILE).write_bytes(orjson.dumps(asdict(report), option=options))
        card = VerifierCard(
            verifier_id=content_id(folder),
            name=name,
            max_length=max_length,
            batch_pieces=BATCH_PIECES,
            precision=precision,
            license=license_name,
            provenance=provenance(name, source, CLAIM_RECIPES[precision]),
        )
        (folder / VERIFIER_FILE).write_bytes(orjson.dumps(card, option=options))
    return report


def _claims(name: str) -> Iterator[Claim]:
    """Each sentence of a bundled text beside itself and the one that follows."""
    for passage in bundled_passages(name):
        ends = [0, *sentence_ends(passage)]
        sentences = [passage[start:end].strip() for start, end in pairwise(ends)]
        for phrase, text in [*zip(sentences, sentences, strict=True), *pairwise(sentences)]:
            yield Claim(phrase, text, 0, len(text))


def _feeds(inputs: ClaimInputs, claim: Claim) -> Feeds:
    row = inputs.row(claim)
    ids, types = np.array([row.ids]), np.array([row.types])
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}

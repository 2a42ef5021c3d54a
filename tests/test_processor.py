"""A processor with AVX2 alone computes what this one does: the same vectors, the same verdicts."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from .command_line import printed

REPOSITORY = Path(__file__).parents[1]
HASWELL = ("qemu-x86_64", "-cpu", "Haswell")
MOST = 5e-4
PROGRAM = """
import json, sys
import numpy as np
from slice_os import Claim, SpanEncoder
from slice_os.verifier.bundled import BundledVerifier
texts, claims = json.load(sys.stdin)
encoder = SpanEncoder(threads=1)
phrases = encoder.encode_phrases([phrase for phrase, _ in claims])
cosines = []
for text in texts:
    sums = np.cumsum(encoder.encode_text(text)[1], axis=0)
    for words in (1, 4, 12):
        spans = sums[words:] - sums[:-words]
        cosines += (spans @ phrases.T / np.linalg.norm(spans, axis=1, keepdims=True)).tolist()
verdicts = BundledVerifier(encoder).check([Claim(p, text, 0, len(text)) for p, text in claims])
print(json.dumps([cosines, [verdict.probability for verdict in verdicts]]))
"""

pytestmark = [
    pytest.mark.processor,
    pytest.mark.release,
    pytest.mark.slow,
    pytest.mark.skipif(
        platform.machine() != "x86_64" or not shutil.which(HASWELL[0]),
        reason="qemu-x86_64 is not installed (Debian: apt install qemu-user), or this is no x86-64",
    ),
]


def computed(runner: tuple[str, ...], given: str) -> tuple[np.ndarray, np.ndarray]:
    command = [*runner, sys.executable, "-c", PROGRAM]
    cosines, probabilities = json.loads(printed(command, input=given, cwd=REPOSITORY))
    return np.array(cosines), np.array(probabilities)


@pytest.mark.timeout(1800)
def test_avx2_alone_gives_the_same_cosines_and_verdicts() -> None:
    lines = (REPOSITORY / "demo" / "dialogues.jsonl").read_text("utf-8").splitlines()[:360:90]
    calls = [" ".join(turn["text"] for turn in json.loads(line)["text"])[:60] for line in lines]
    contract = min((REPOSITORY / "demo" / "contracts").iterdir()).read_text("utf-8")
    pairs = (REPOSITORY / "benchmarks" / "contrasts" / "development.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in pairs.splitlines()]
    said = [(row["phrase"], row["says"].replace("[[", "").replace("]]", "")) for row in rows]
    claims = sorted(said, key=lambda claim: len(claim[1]))[:15:3]
    texts = [*calls, contract[3000:3200]]
    assert len(texts) == len(claims) == 5
    given = json.dumps([texts, claims])
    (here, ours), (there, theirs) = computed((), given), computed(HASWELL, given)
    assert np.abs(here - there).max() <= MOST
    assert np.abs(ours - theirs).max() <= MOST

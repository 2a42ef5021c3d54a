"""Verifiers by name: those of this package, and those that other packages install."""

from __future__ import annotations

from pathlib import Path

import pytest

from slice_os import Claim, InputError, ModelError, SpanEncoder
from slice_os.errors import PluginError
from slice_os.verifier.bundled import BundledVerifier, SimilarityVerifier
from slice_os.verifier.registry import chosen_verifier, find_verifier, verifier_names

TOY = """
from slice_os import Verdict

class Toy:
    def __init__(self, encoder, probability="0.25"):
        self.probability = float(probability)

    def check(self, claims):
        return [Verdict(self.probability, ("toy",)) for _ in claims]

def plain(encoder):
    return Toy(encoder)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that brings verifiers, as pip leaves it."""
    (tmp_path / "toy_verifiers.py").write_text(TOY)
    installed = tmp_path / "toy_verifiers-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-verifiers\nVersion: 1.0")
    (installed / "entry_points.txt").write_text(
        "[slice_os.verifiers]\ntoy = toy_verifiers:Toy\nplain = toy_verifiers:plain\n"
        "gone = toy_verifiers:Gone\nsimilarity = toy_verifiers:Toy\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


CLAIM = Claim("a cat", "the cat sat", 0, 7)


def test_the_bundled_one_is_the_default(encoder: SpanEncoder) -> None:
    bundled = find_verifier("slice-verify", encoder)
    assert isinstance(bundled, BundledVerifier)
    assert chosen_verifier(None, None, encoder) is bundled
    assert chosen_verifier(True, "slice-verify", encoder) is bundled
    assert chosen_verifier(False, "slice-verify", encoder) is None


@pytest.mark.usefixtures("toy")
def test_installed_packages_bring_verifiers(encoder: SpanEncoder) -> None:
    assert set(verifier_names()) >= {
        *("slice-verify", "similarity", "cross-encoder", "toy", "plain", "gone"),
    }
    assert [one.probability for one in find_verifier("toy", encoder).check([CLAIM])] == [0.25]
    (verdict,) = find_verifier("toy:0.75", encoder).check([CLAIM])
    assert (verdict.probability, verdict.reasons) == (0.75, ("toy",))
    assert isinstance(find_verifier("similarity", encoder), SimilarityVerifier)


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none", r"there are slice-verify, similarity, cross-encoder, gone, plain, toy"),
        ("plain:loud", r"verifier 'plain' takes no setting 'loud'"),
        ("similarity:half", r"verifier 'similarity' takes no setting 'half'"),
        ("cross-encoder", r"needs a folder; write cross-encoder:FOLDER"),
    ],
)
def test_what_cannot_be_opened_is_said(encoder: SpanEncoder, name: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        find_verifier(name, encoder)


@pytest.mark.usefixtures("toy")
def test_a_package_that_does_not_load_is_named(encoder: SpanEncoder) -> None:
    with pytest.raises(PluginError, match=r"'gone' of toy-verifiers 1\.0 does not load"):
        find_verifier("gone", encoder)


def test_a_cross_encoder_is_a_folder(encoder: SpanEncoder, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no verifier at"):
        find_verifier(f"cross-encoder:{tmp_path}", encoder)

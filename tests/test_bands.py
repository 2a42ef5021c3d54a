"""What a verifier finds for a hit: the band of its probability, and the words that match."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from slice_os import Claim, Corpus, Document, Hit, Hits, SpanEncoder, Verdict, scan, write_hits
from slice_os.cli.render import render
from slice_os.errors import InputError
from slice_os.hits.bands import PROBABLE_FROM, UNSURE_FROM, band_of
from slice_os.integrations.evidence import evidence_of
from slice_os.verifier.registry import VERIFIERS

from .command_line import Run

PHRASE = "I want to cancel my subscription"
MATCHES = (("cancel", "<b>end</b>"), ("my subscription", "my plan"))
TEXTS = {
    "probable": "Please end my plan now.",
    "unsure": "Perhaps I end my plan now.",
    "unlikely": "I never end my plan now.",
}
PROBABILITIES = {"Please": PROBABLE_FROM, "Perhaps": UNSURE_FROM, "never": 0.01}


class Toy:
    """Finds a probability for a word of the sentence, and the same matches each time."""

    def __init__(self, encoder: object = None) -> None:
        pass

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        return [
            Verdict(value, matches=MATCHES)
            for claim in claims
            for word, value in PROBABILITIES.items()
            if word in claim.text
        ]


@pytest.fixture(scope="module")
def hits(encoder: SpanEncoder) -> Hits:
    documents = [Document(name, text) for name, text in TEXTS.items()]
    return Hits(tuple(scan(documents, PHRASE, threshold=0.4, encoder=encoder, verifier=Toy())))


@pytest.mark.parametrize(
    ("probability", "band"),
    [
        (1.0, "probable"),
        (PROBABLE_FROM, "probable"),
        (PROBABLE_FROM - 1e-7, "probable"),  # as it is written
        (PROBABLE_FROM - 1e-6, "unsure"),
        (UNSURE_FROM, "unsure"),
        (UNSURE_FROM - 1e-6, "unlikely"),
        (0.0, "unlikely"),
    ],
)
def test_a_band_begins_with_its_cut(probability: float, band: str) -> None:
    assert band_of(probability) == band


def test_a_cut_takes_hits_to_the_same_decimals(hits: Hits) -> None:
    some = Hits(tuple(replace(hits[0], probability=PROBABLE_FROM - off) for off in (1e-7, 1e-6)))
    assert [hit.band for hit in some] == ["probable", "unsure"]
    assert some.rethreshold(min_probability=PROBABLE_FROM).items == some.items[:1]


@pytest.mark.parametrize(
    ("probability", "two", "three"),
    [
        (1.0, "1.00", "1.000"),
        (PROBABLE_FROM, "0.65", "0.650"),
        (PROBABLE_FROM - 1e-7, "0.65", "0.650"),
        (PROBABLE_FROM - 1e-6, "0.64", "0.649"),
        (0.29, "0.29", "0.290"),
        (0.0, "0.00", "0.000"),
    ],
)
def test_no_probability_is_shown_above_its_band(
    hits: Hits, tmp_path: Path, probability: float, two: str, three: str
) -> None:
    hit = replace(hits[0], probability=probability)
    assert f"probability {two}  {hit.band}" in render(hit, 1)
    assert f"probability {two}</bdi> · <bdi>{hit.band}" in hit._repr_html_()
    assert f">{two}</td>" in Hits((hit,))._repr_html_()
    write_hits([hit], tmp_path / "hits.html")
    assert f'probability <span class="value">{three}</span>' in (tmp_path / "hits.html").read_text()
    write_hits([hit], tmp_path / "hits.jsonld")
    assert f"probability {three}" in (tmp_path / "hits.jsonld").read_text()


def test_hits_carry_both(hits: Hits, encoder: SpanEncoder, tmp_path: Path) -> None:
    assert {hit.doc_id: hit.band for hit in hits} == {name: name for name in TEXTS}
    assert {hit.matches for hit in hits} == {MATCHES}
    with Corpus(tmp_path / "store", encoder, verifier=Toy()) as corpus:
        corpus.add(Document(name, text) for name, text in TEXTS.items())
        found = corpus.search(PHRASE)
        assert {(hit.band, hit.matches) for hit in found} == {(name, MATCHES) for name in TEXTS}


def test_json_has_both_in_their_places(hits: Hits) -> None:
    raw = hits[0].to_dict()
    names = list(raw)
    at = names.index("probability")
    assert names[at : at + 5] == ["probability", "band", "reasons", "matches", "phrase"]
    assert raw["matches"] == [list(pair) for pair in MATCHES]
    back = Hit.from_dict(raw | {"band": "certain"})
    assert (back.band, back.matches) == (hits[0].band, MATCHES)
    for wrong in ([["cancel"]], ["cancel"], [["a", "b", "c"]], [[1, 2]], 3):
        with pytest.raises(InputError, match="not a hit"):
            Hit.from_dict(raw | {"matches": wrong})


def test_a_hit_without_a_probability_has_no_band(hits: Hits) -> None:
    raw = hits[0].to_dict() | {"probability": None}
    hit = Hit.from_dict(raw)
    assert hit.band is None
    assert hit.to_dict()["band"] is None


def test_frameworks_get_both(hits: Hits) -> None:
    evidence = evidence_of(hits[0])
    assert (evidence["band"], evidence["matches"][1]) == (hits[0].band, list(MATCHES[1]))


def test_tables_and_reports_show_both(hits: Hits, tmp_path: Path) -> None:
    write_hits(hits, tmp_path / "hits.csv")
    with (tmp_path / "hits.csv").open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["doc_id"]: row["band"] for row in rows} == {name: name for name in TEXTS}
    assert rows[0]["matches"] == "cancel ↔ <b>end</b>; my subscription ↔ my plan"
    table = hits.to_arrow()
    assert table["matches"].to_pylist()[0] == ["cancel ↔ <b>end</b>", "my subscription ↔ my plan"]

    write_hits(hits, tmp_path / "hits.html")
    page = (tmp_path / "hits.html").read_text("utf-8")
    for band in TEXTS:
        assert page.count(f'<span class="{band}">{band}</span>') == 1
    assert "matches: cancel ↔ &lt;b&gt;end&lt;/b&gt;, my subscription ↔ my plan" in page
    notebook = hits[0]._repr_html_()
    assert f"<bdi>{hits[0].band}</bdi> · <bdi>cancel ↔ &lt;b&gt;end&lt;/b&gt;</bdi>" in notebook


def test_a_terminal_colours_the_bands(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(VERIFIERS, "toy", f"{__name__}:Toy")
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    files = [f"{name}.txt" for name in TEXTS]
    asked = ["scan", *files, "-p", PHRASE, "--threshold", "0.4", "--verifier", "toy"]
    piped = [json.loads(line)["band"] for line in run(*asked).out.splitlines()]
    assert piped == list(TEXTS)
    plain = run(*asked, "--text").out
    assert "  unsure  cancel ↔ <b>end</b>  my subscription ↔ my plan\n" in plain
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run(*asked, "--text").out
    for style in ("[32mprobable", "[33munsure", "[90munlikely", "[2mcancel ↔ <b>end</b>"):
        assert f"\x1b{style}\x1b[0m" in shown

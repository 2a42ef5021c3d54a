"""Reports of hits."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from slice_os import Context, Corpus, Document, Hit, Hits, InputError, write_hits
from slice_os.hits.report.digest import BINS, MOST_EXAMPLES, digest
from slice_os.hits.report.html_page import write_report

from .command_line import Run

PHRASE = "cancel my plan"
EVIL = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\0\u202e"


def hit(number: int, cosine: float, probability: float | None = 0.5, phrase: str = PHRASE) -> Hit:
    text = f"Please end plan {number} today."
    return Hit(
        phrase=phrase,
        doc_id=f"call-{number}",
        start=107,
        end=107 + len(f"end plan {number}"),
        text=f"end plan {number}",
        cosine=cosine,
        bm25=1.5,
        score=0.5,
        metadata={"domain": "mobile"},
        passage=Context(100, 100 + len(text), text),
        probability=probability,
    )


class Page(HTMLParser):
    """The elements of a page, with their attributes and the text outside scripts and styles."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.content: dict[str, str] = {}
        self.text = ""
        self._inside: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "rect", "line"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] in ("style", "script"):
            self.content[self._inside[-1]] = data
        else:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "report.html"


def test_shows_hits_and_near_misses_apart(out: Path) -> None:
    hits = [hit(1, 0.8), hit(2, 0.6), hit(3, 0.46), hit(4, 0.7, phrase="get a refund")]
    assert write_report(hits, out, threshold=0.5, title="Calls of May") == 3
    page = Page(out)
    assert "Calls of May" in page.text
    assert "3 hits in 3 documents, cosine 0.5 or more; 1 near miss" in page.text
    assert page.text.index("call-1:107-117") < page.text.index("call-2:107-117")
    assert [one.get("class") for one in page.all("article")] == [None, None, "near-miss", None]
    assert page.text.count("domain: mobile") == 4
    assert len(page.all("section")) == 2


def test_escapes_everything_that_comes_from_hits(out: Path) -> None:
    evil = replace(
        hit(1, 0.8),
        phrase=EVIL,
        doc_id=EVIL,
        text=EVIL,
        metadata={EVIL: EVIL},
        passage=Context(100, 107 + 2 * len(EVIL), "x" * 7 + EVIL * 2),
        end=107 + len(EVIL),
    )
    write_report([evil, replace(evil, cosine=0.1)], out, threshold=0.5, title=EVIL)
    page = Page(out)
    assert not page.all("img")
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert page.text.count("alert(1)") > 10
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)


def test_loads_nothing_and_admits_its_own_script_alone(out: Path) -> None:
    write_report([hit(1, 0.8)], out)
    page = Page(out)
    (policy,) = (
        str(one["content"])
        for one in page.all("meta")
        if one.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    for name in ("style", "script"):
        digested = base64.b64encode(hashlib.sha256(page.content[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digested}'" in policy
    for _, attributes in page.elements:
        assert "style" not in attributes
        assert not {"src", "srcset", "data", "action"} & attributes.keys()
        assert str(attributes.get("href", "#")).startswith("#")
    assert "http" not in re.sub("http-equiv", "", out.read_text("utf-8"))


def test_groups_by_topic(out: Path) -> None:
    records = [hit(number, 0.8).to_dict() | {"topic": "churn"} for number in range(3)]
    records += [hit(9, 0.8, phrase="I leave").to_dict() | {"topic": "churn"}]
    (group,) = digest(records).groups
    assert (group.name, group.hits, group.documents) == ("churn", 4, 4)


def test_counts_hits_from_each_threshold_on(out: Path) -> None:
    hits = [hit(number, 0.7, number / 100) for number in range(100)]
    write_report(hits, out)
    (section,) = Page(out).all("section")
    remaining = [int(one) for one in str(section["data-remaining"]).split()]
    assert remaining == [sum(one >= 2 * step for one in range(100)) for step in range(BINS + 1)]


def test_hits_without_a_probability_count_by_their_cosine(out: Path) -> None:
    write_report([hit(1, 0.7, 0.3), hit(2, 0.7, None)], out)
    (section,) = Page(out).all("section")
    remaining = [int(one) for one in str(section["data-remaining"]).split()]
    assert (remaining[0], remaining[BINS // 2], remaining[-1]) == (2, 1, 0)


def test_measures_by_cosine_without_probabilities(out: Path) -> None:
    write_report([hit(1, 0.8, None), hit(2, -0.2, None)], out)
    page = Page(out)
    assert "Least cosine" in page.text
    assert len(page.all("svg")) == 1


@pytest.mark.slow
def test_many_hits_stay_a_page(out: Path) -> None:
    hits = (
        hit(number, 0.5 + number % 491 / 1000, None, f"phrase {number % 700}")
        for number in range(70_000)
    )
    assert write_report(hits, out) == 70_000
    page = Page(out)
    assert len(page.all("article")) <= MOST_EXAMPLES
    assert len(page.all("section")) == 501
    assert "other groups" in page.text
    assert "best and the 1 weakest" in page.text
    assert out.stat().st_size < 5_000_000


def test_no_hits_are_a_page(out: Path) -> None:
    assert write_hits(Hits(()), out) == 0
    assert "No hits." in Page(out).text


class TestCommand:
    def test_reads_json_lines(self, run: Run, tmp_path: Path) -> None:
        Hits((hit(1, 0.8), hit(2, 0.4))).to_jsonl("hits.jsonl")
        done = run("report", "hits.jsonl", "-o", "report.html", "--threshold", "0.5")
        assert (done.status, done.out, done.err) == (0, "", "report.html: 1 hit\n")
        assert "1 near miss" in Page(tmp_path / "report.html").text

    def test_refuses_other_input(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "hits.jsonl").write_text("{}\n")
        done = run("report", "hits.jsonl", "-o", "report.html")
        assert done.status == 1
        assert done.err.startswith("slice-os: hits.jsonl, line 1: not a hit (")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["hits.jsonl"]
        (tmp_path / "hits.xlsx").write_bytes(b"PK\x03\x04\xff\n")
        told = "hits.xlsx, line 1: not valid JSON; give what `slice-os mine --json` prints"
        assert run("report", "hits.xlsx", "-o", "report.html").err == f"slice-os: {told}\n"
        for output in ("report.pdf", "report.qdpx"):
            assert "needs --store" in run("report", "hits.jsonl", "-o", output).err
        assert "give HITS or --from" in run("report", "-o", "report.html").err

    def test_has_the_hits_of_mining_and_others_nearby(self, run: Run) -> None:
        with Corpus("s") as corpus:
            corpus.add([Document("a", "It's 4471. I don't want a new one, I want my money back.")])
            mined = corpus.mine("please give me a refund", threshold=0.3)
        ask = ("mine", "-p", "please give me a refund", "--store", "s", "--threshold", "0.3")
        done = run(*ask, "-o", "report.html")
        assert done.err == f"report.html: {len(mined)} {'hit' if len(mined) == 1 else 'hits'}\n"


def test_a_name_that_is_no_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.html"):
        write_hits([], tmp_path / "report.pdf")

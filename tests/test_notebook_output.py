"""What notebooks show: HTML of hits and corpora, and progress bars."""

from __future__ import annotations

import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given

from slice_os import Context, Corpus, Document, Hit, Hits, SpanEncoder

from .strategies import hard_texts

PASSAGE = (
    "Hello there. I would <b>like</b> to close my account & stop the monthly payments, please."
)
HIT = Hit(
    phrase="I want to <cancel>",
    doc_id="calls/<script>alert(1)</script>.txt",
    start=113,
    end=152,
    text=PASSAGE[13:52],
    cosine=0.6912,
    bm25=1.0,
    score=0.7,
    metadata={"<i>": "</td>"},
    passage=Context(100, 100 + len(PASSAGE), PASSAGE),
)


class Reader(HTMLParser):
    """The tags of a page that are not closed, all its tags, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str | None) -> Reader:
    assert page is not None
    reader = Reader(page)
    assert reader.open == []
    assert reader.tags <= {
        *("div", "p", "br", "small", "bdi", "mark", "code"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    return reader


class TestHits:
    def test_a_hit_is_marked_in_its_context(self) -> None:
        page = HIT._repr_html_()
        assert ">I would &lt;b&gt;like&lt;/b&gt; to close my account</mark> &amp; stop" in page
        text = read(page).text
        assert text.startswith(PASSAGE)
        for told in ("cosine 0.69", f"{HIT.doc_id}:113-152", "“I want to <cancel>”"):
            assert told in text
        assert "probability" not in text
        verified = replace(HIT, probability=0.25, reasons=("negated here",))
        assert "probability 0.25 · unsure · negated here" in read(verified._repr_html_()).text

    def test_a_long_passage_is_cut_at_words(self) -> None:
        before, after = "before " * 50, " after" * 50
        passage = before + HIT.text + after
        long = replace(
            HIT, start=len(before), end=len(before) + len(HIT.text), passage=Context(0, 0, passage)
        )
        text = read(long._repr_html_()).text
        assert text.startswith("… before before")
        assert "before I would" in text
        assert "account after" in text
        assert "after after …" in text
        assert len(text) < 400

    def test_many_hits_are_a_short_table(self) -> None:
        hits = Hits((HIT,) * 1_234, threshold=0.6, min_probability=0.5)
        page = read(hits._repr_html_())
        assert page.text.startswith("1,234 hits, cosine from 0.60, probability from 0.50")
        assert page.text.endswith("and 1,214 more")
        assert page.text.count("<b>like</b>") == 20
        assert "phrase" not in page.text
        other = replace(HIT, phrase="<other>", probability=0.5)
        page = read(Hits((HIT, other))._repr_html_())
        assert "cosineprob.bandphrasehitdocument" in page.text
        assert "<other>" in page.text

    def test_no_hit_is_said(self) -> None:
        assert read(Hits(())._repr_html_()).text == "0 hits"

    @given(text=hard_texts())
    def test_any_text_is_shown_as_text(self, text: str) -> None:
        hit = replace(HIT, phrase=text, doc_id=text, text="", passage=Context(113, 0, text))
        read(hit._repr_html_())
        read(Hits((hit, HIT))._repr_html_())


class TestCorpora:
    def test_show_what_they_hold(self, encoder: SpanEncoder, tmp_path: Path) -> None:
        with Corpus(tmp_path / "<store>", encoder) as corpus:
            corpus.add([Document("call", PASSAGE)])
            text = read(corpus._repr_html_()).text
        for told in ("<store>", "documents1", "passages", "words", "encoderslice-mini"):
            assert told in text

    def test_that_cannot_be_opened_say_why(self, tmp_path: Path) -> None:
        text = read(Corpus(tmp_path / "<none>")._repr_html_()).text
        assert "<none>: no store here" in text

    def test_never_show_a_password(self) -> None:
        page = Corpus("http://ann:secret@127.0.0.1:1/calls")._repr_html_()
        assert "secret" not in read(page).text


class TestBars:
    @pytest.fixture
    def notebook(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shell = SimpleNamespace(kernel="a kernel", config={})
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
        monkeypatch.setattr("slice_os.search.notebook.DELAY_SECONDS", 0)

    @pytest.mark.usefixtures("notebook")
    def test_count_in_notebooks(
        self, encoder: SpanEncoder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "a.txt").write_text(PASSAGE)
        with Corpus(tmp_path / "store", encoder) as corpus:
            corpus.add([Document("call", PASSAGE), Document("other", PASSAGE)])
            assert "2/2 [" in capsys.readouterr().err
            corpus.ingest([tmp_path / "a.txt"])
            assert "1 documents [" in capsys.readouterr().err
            mined = len(corpus.mine("close my account"))
            assert f"{mined} hits [" in capsys.readouterr().err
            corpus.ingest([tmp_path / "a.txt"], progress=lambda summary: None)
            assert capsys.readouterr().err == ""

    def test_there_are_none_elsewhere(
        self, encoder: SpanEncoder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with Corpus(tmp_path / "store", encoder) as corpus:
            corpus.add([Document("call", PASSAGE)])
            corpus.mine("close my account")
        assert capsys.readouterr().err == ""

from __future__ import annotations

import pkgutil
import sys
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from slice_os import Document, InputError, SpanEncoder, scan
from slice_os.integrations.spacy_spans import make_spans

pytestmark = pytest.mark.release

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = "Hello 👋, I would like to close my account. Somebody took my card on the train."
CANCEL, STOLEN = "I want to cancel my subscription", "my card was stolen"
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def nlp() -> Language:
    made = spacy.blank("en")
    made.add_pipe("slice_os", config={"phrases": [CANCEL, STOLEN], "threshold": 0.5})
    return made


def test_hits_are_labelled_spans(nlp: Language, encoder: SpanEncoder) -> None:
    doc = nlp(TEXT)
    hits = list(scan([Document("1", TEXT)], [CANCEL, STOLEN], threshold=0.5, encoder=encoder))
    assert len(hits) == 2
    spans = doc.spans["slice_os"]
    for span, hit, score in zip(spans, hits, spans.attrs["scores"], strict=True):
        assert (span.text, span.label_) == (hit.text, hit.phrase)
        assert TEXT[span.start_char : span.end_char] == hit.text
        assert span._.slice_os["cosine"] == score == pytest.approx(hit.cosine, abs=1e-4)
    assert doc[0:2]._.slice_os is None


def test_labels_of_the_same_words_have_their_own_evidence() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("slice_os", config={"phrases": [CANCEL, "close my account"], "threshold": 0.4})
    doc = nlp("Close my account!")
    spans = list(doc.spans["slice_os"])
    assert {span.label_ for span in spans} == {CANCEL, "close my account"}
    assert spans[0].text == spans[1].text
    assert spans[0]._.slice_os["phrase"] == spans[0].label_
    assert spans[0]._.slice_os["cosine"] != spans[1]._.slice_os["cosine"]


def test_a_stream_is_marked_in_batches(nlp: Language) -> None:
    texts = ["", "...", TEXT, "Nothing to see here."] * 3
    docs = list(nlp.pipe(texts, batch_size=5))
    assert [doc.text for doc in docs] == texts
    assert [len(doc.spans["slice_os"]) for doc in docs] == [0, 0, 2, 0] * 3


def test_topics_are_labels() -> None:
    nlp = spacy.blank("en")
    topics = [str(REPOSITORY / "examples" / "topics" / "stolen-card.toml")]
    config = {"topics": topics, "phrases": [CANCEL], "threshold": 0.5, "spans_key": "found"}
    nlp.add_pipe("slice_os", config=config)
    doc = nlp("I would like to close my account. And my credit card was stolen.")
    assert {span.label_ for span in doc.spans["found"]} == {"stolen-card", CANCEL}


def test_a_pipeline_and_its_documents_are_kept(nlp: Language, tmp_path: Path) -> None:
    doc = nlp(TEXT)
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
    assert again.get_pipe_meta("slice_os").factory == "slice_os"
    read = Doc(again.vocab).from_bytes(doc.to_bytes())
    expected = [(span.text, span.label_, span._.slice_os) for span in doc.spans["slice_os"]]
    for other in (again(TEXT), read):
        found = [(span.text, span.label_, span._.slice_os) for span in other.spans["slice_os"]]
        assert found == expected


def test_something_to_look_for_is_needed() -> None:
    with pytest.raises(InputError, match="nothing to look for; give config"):
        spacy.blank("en").add_pipe("slice_os")


def test_spacy_finds_the_factory_by_itself() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    place = project["entry-points"]["spacy_factories"]["slice_os"]
    assert pkgutil.resolve_name(place) is make_spans

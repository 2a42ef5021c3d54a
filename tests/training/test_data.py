"""Data: what is read, what is dropped, where phrases are placed."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="training needs the extra `train`")

from recipes.hard_negatives import mine_negatives
from slice_os.datasets.decontamination import Decontamination, read_hashes, sentence_hash
from slice_os.errors import InputError
from slice_os.training.config import DataConfig, TrainingConfig, read_config
from slice_os.training.examples.formats import FORMATS, read_files
from slice_os.training.examples.wordnet import find_form, inflect
from slice_os.training.prepared_sets import context_sentences, load_datasets, place
from slice_os.training.record_types import Pair, Passage, Substitution, Triple

SHARED = Path(__file__).parents[3] / "shared" / "data"
CONTEXTS = [
    "When the rain had stopped, we walked along the river for hours.",
    "The committee will meet again on Tuesday to discuss the budget.",
]

SWORDS_WITHOUT_PLACE = """{
    "substitutes": {}, "contexts": {"c": {"context": "by the bank"}},
    "targets": {"t": {"context_id": "c", "offset": "7", "target": "bank"}}
}"""


def needs_shared(name: str):
    return pytest.mark.skipif(
        not (SHARED / name).exists(), reason=f"{name} is not beside the repository"
    )


def load(config: TrainingConfig, folder: Path):
    return load_datasets(config, folder, lambda text: len(text) < 500)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_formats_become_records(tmp_path):
    def read(name: str, text: str):
        return list(read_files(name, [write(tmp_path / "file", text)]))

    assert read("texts-jsonl", '{"text": "some text"}\n\n') == [Passage("some text")]
    assert read("triples-tsv", "q\tyes\tno\n") == [Triple("q", "yes", ("no",))]
    assert read("triples-jsonl", '{"query":"q","positive":"p","negatives":["a","b"]}') == [
        Triple("q", "p", ("a", "b"))
    ]
    assert read("sts-csv", '"a, b",c,2.5\n') == [Pair("a, b", "c", 0.5, Passage("c"))]
    assert read("nli-tsv", "neutral\tHe did n't go .\tHe went , too .\n-\tx\ty\n") == [
        Pair("He didn't go.", "He went, too.", 0.5, Passage("He went, too."))
    ]
    placed = {"first": "a", "second": "The bun.", "score": 0.4, "passage": "Look, the bun falls."}
    (pair,) = read("pairs-jsonl", json.dumps(placed))
    assert pair.passage.text[pair.passage.start : pair.passage.end] == "the bun"
    # A capital with a dot is longer in lower case.
    (pair,) = read("pairs-jsonl", json.dumps(placed | {"passage": "In İZMİR the bun falls."}))
    assert pair.passage.text[pair.passage.start : pair.passage.end] == "the bun"


def test_annotated_documents_become_triples(tmp_path):
    kept = "The tenant may leave at the end of any month."
    other = "The tenant pays rent on the first day."
    far = "Pets are not allowed in the flat."
    text = f"Yes. {far} {kept} {other}"
    start = text.index("tenant may leave")
    asked = {"query": "when may the tenant leave", "spans": [[start, start + 30]]}
    row = {"text": text, "queries": [asked, {"query": "deposit", "spans": []}], "split": "train"}
    path = write(tmp_path / "set.jsonl", json.dumps(row) + "\n")
    expected = [Triple("when may the tenant leave", kept[:-1], (other[:-1], far[:-1]))]
    assert list(read_files("answers", [path], "train")) == expected
    assert list(read_files("answers", [path])) == expected
    with pytest.raises(InputError, match="no document of split 'test'; it has train"):
        list(read_files("answers", [path], "test"))


def test_long_sentences_are_cut_and_the_two_best_covered_pieces_answer(tmp_path):
    long = " ".join(f"word{number}" for number in range(120))
    row = {
        "text": f"{long}. It is quite another one.",
        "queries": [{"query": "q", "spans": [[0, len(long)]]}],
    }
    triples = list(read_files("answers", [write(tmp_path / "set.jsonl", json.dumps(row))]))
    assert [triple.negatives for triple in triples] == [("It is quite another one",)] * 2
    assert [len(triple.positive.split()) for triple in triples] == [40, 40]
    assert all(triple.positive in long for triple in triples)


def test_only_formats_with_splits_take_one():
    with pytest.raises(InputError, match="format 'texts-jsonl' has no splits"):
        DataConfig("texts-jsonl", ("a",), split="train")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("texts-jsonl", "{", "line 1: not valid JSON"),
        ("texts-jsonl", '{"text": 3}', "line 1: 'text' is 3; text is needed"),
        ("sts-csv", "a,b\n", "line 1: 2 columns of 3; expected comma-separated rows"),
        ("sts-csv", "a,b,7\n", "'score' is '7'; a number from 0 to 5"),
        ("triples-jsonl", '{"query":"q","positive":"p"}', "'negatives' is not a list of texts"),
        ("pairs-jsonl", '{"first":"a","second":"b","passage":"c"}', "does not contain 'b'"),
        ("swords", "{}", "expected SWORDS v1.1 as JSON"),
        ("swords", SWORDS_WITHOUT_PLACE, "lacks fields"),
        ("wordnet-senses", '{"members": "bank"}', "line 1: 'members' is no list"),
    ],
)
def test_malformed_files_are_one_line_that_says_what_is_expected(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")) as caught:
        list(read_files(name, [write(tmp_path / "file", text)]))
    assert str(tmp_path / "file") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FORMATS)
def test_a_missing_file_says_what_was_expected(tmp_path, name):
    with pytest.raises(InputError, match="not found; expected"):
        list(read_files(name, [tmp_path / "absent"]))


def test_gzip_is_known_by_its_bytes(tmp_path):
    (tmp_path / "data").write_bytes(gzip.compress(b'{"text": "packed"}\n'))
    assert list(read_files("texts-jsonl", [tmp_path / "data"])) == [Passage("packed")]


def test_synsets_give_right_and_wrong_substitutes(data):
    found = {r.text: r for r in read_files("wordnet-substitutes", [data / "wordnet.jsonl"])}
    assert found["the man went near the bank"].right == ("river bank",)
    assert found["the man went near the bank"].wrong == ("money house",)
    plural = found["banks of stone and water"]
    assert plural.text[plural.start : plural.end] == "banks"
    assert plural.right == ("river banks",)
    assert found["a big bank paid the man"].wrong == ("river bank",)


def test_senses_have_their_definition_and_those_of_others(data):
    found = {r.text: r for r in read_files("wordnet-senses", [data / "wordnet.jsonl"])}
    sense = found["banks of stone and water"]
    assert (sense.definition, sense.others) == ("land near a river", ("a house of money",))
    assert sense.text[sense.start : sense.end] == "banks"


@pytest.mark.parametrize(
    ("text", "lemma", "pos", "found"),
    [
        ("My grades are slipping", "slip", "v", "slipping"),
        ("he carries it out", "carry", "v", "carries"),
        ("he carried out the plan", "carry out", "v", "carried out"),
        ("The Cities burned", "city", "n", "Cities"),
        ("a catalogue", "cat", "n", None),
    ],
)
def test_forms_are_found(text, lemma, pos, found):
    span = find_form(text, lemma, pos)
    assert (text[slice(*span)] if span else None) == found


@pytest.mark.parametrize(
    ("word", "surface", "lemma", "pos", "expected"),
    [
        ("crash", "smashes", "smash", "v", "crashes"),
        ("drop off", "slipping", "slip", "v", "droping off"),
        ("take place", "passed off", "pass off", "v", "taked place"),
        ("city", "towns", "town", "n", "cities"),
        ("meekly", "humbly", "humbly", "r", "meekly"),
    ],
)
def test_substitutes_are_inflected_regularly(word, surface, lemma, pos, expected):
    assert inflect(word, surface, lemma, pos) == expected


@settings(max_examples=50)
@given(
    phrase=st.sampled_from(["A man is slicing a bun.", "NASA lands a probe", "Who knows?"]),
    seed=st.integers(0, 10_000),
)
def test_a_placed_phrase_is_where_it_is_said_to_be(phrase, seed):
    placed = place(phrase, CONTEXTS, Random(seed))
    found = placed.text[placed.start : placed.end]
    assert found.lower().rstrip(".!?") == phrase.lower().rstrip(".!?")
    assert len(placed.text) > len(found)
    assert placed == place(phrase, CONTEXTS, Random(seed))


def test_contexts_are_sentences_of_some_length():
    assert context_sentences([Passage(f"No. {CONTEXTS[0]} Oh yes!")]) == [CONTEXTS[0]]


def test_hashes_are_those_of_the_file_format():
    assert sentence_hash("  A man, with a\tHat!") == sentence_hash("a man with a hat")
    known = Decontamination(frozenset({sentence_hash("A man is slicing a bun.")}))
    assert known.contaminated(["fine", "It rained. A man is slicing a bun! He left."])
    assert not known.contaminated(["It rained. A man is slicing a tomato."])
    assert not Decontamination().contaminated(["A man is slicing a bun."])


def test_a_file_of_hashes_is_checked(tmp_path):
    with pytest.raises(InputError, match="expected sha1 hashes"):
        read_hashes(tmp_path / "none")
    with pytest.raises(InputError, match="line 1: 'nonsense' is not a sha1"):
        read_hashes(write(tmp_path / "hashes", "nonsense\n"))


def test_records_with_evaluation_sentences_are_dropped_and_counted(recipe, data):
    config = read_config(recipe())
    first = load(config, data)["sts"].records[0]
    (data / "hashes").write_text(sentence_hash(first.second) + "\n")
    from dataclasses import replace

    cleaned = load(replace(config, hashes="hashes"), data)["sts"]
    assert (cleaned.counts.contaminated, len(cleaned.records)) == (1, 23)
    assert first not in cleaned.records


def test_epochs_hold_every_record_once_and_draws_repeat(recipe, data):
    triples = load(read_config(recipe()), data)["triples"]
    read = [record for position in range(4) for record in triples.batch(position, 3, "seed")]
    assert Counter(read) == Counter(triples.records)
    assert triples.batch(2, 3, "seed") == read[6:9]
    assert triples.batch(0, 12, "seed") != triples.batch(1, 12, "seed")


def test_pairs_are_placed_anew_at_each_draw(recipe, data):
    pairs = load(read_config(recipe()), data)["sts"]
    epochs = [pairs.batch(epoch, 24, "seed") for epoch in (0, 1)]
    texts = [{pair.first: pair.passage.text for pair in epoch} for epoch in epochs]
    assert texts[0] != texts[1]
    assert pairs.batch(0, 24, "seed") == epochs[0]


@settings(max_examples=30)
@given(key=st.text(max_size=20))
def test_train_and_dev_parts_share_nothing(key):
    parts = [DataConfig("swords", ("f",), part=part) for part in ("train", "dev", "all")]
    train, dev, everything = (part.holds(key) for part in parts)
    assert train != dev
    assert everything


def test_long_passages_are_cut_and_none_is_lost(tmp_path, recipe, data):
    words = " ".join(f"word{n}" for n in range(150))
    text = f"{words}. And so it goes on for a while."
    (data / "texts.jsonl").write_text(json.dumps({"text": text}))
    records = load(read_config(recipe()), data)["texts"].records
    assert " ".join(record.text for record in records) == text
    assert max(len(record.text.split()) for record in records) <= 60


def test_hard_negatives_come_from_the_store_and_are_no_answers(tmp_path):
    pairs = [
        Pair(query, answer, 1.0, Passage(answer))
        for query, answer in [
            ("cancel my subscription", "I want to cancel my subscription today."),
            ("cancel the order", "Please cancel the order I placed yesterday."),
            ("reset the password", "How do I reset the password of my account?"),
            ("subscription price", "The subscription price went up again."),
        ]
    ]
    triples = list(mine_negatives(pairs, tmp_path / "store", negatives=2))
    assert {triple.query for triple in triples} == {pair.first for pair in pairs}
    first = triples[0]
    assert first.positive not in first.negatives
    assert set(first.negatives) <= {pair.second for pair in pairs}
    assert "How do I reset the password of my account?" not in first.negatives
    with pytest.raises(InputError, match="no pairs"):
        list(mine_negatives([], tmp_path / "other"))


@needs_shared("swords")
def test_swords_are_read():
    (first, *others) = read_files("swords", [SHARED / "swords" / "swords-v1.1_dev.json.gz"])
    assert isinstance(first, Substitution)
    assert len(others) > 200
    for record in others:
        assert record.text[record.start : record.end].strip()
        assert not set(record.right) & set(record.wrong)

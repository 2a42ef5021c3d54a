"""Filters admit the same passages in an index as in a local store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from opensearchpy import OpenSearch

from slice_os import AsyncCorpus, Corpus, Document, IndexOptions, InputError, SpanEncoder
from slice_os.estimates.tallies import documents_by, tally
from slice_os.query.filters import parse_where, value_key
from slice_os.query.query import Phrases, Query
from slice_os.stores.cluster.search import metadata
from slice_os.stores.cluster.store import OpenSearchStore
from slice_os.stores.protocol import Store

from .support import call_cli
from .texts import own_address

TEXT = "Please cancel my order."
NAMES = ("airline", "Airline", "BANK", "bank", "Zürich", "3", "3.0", "03", "2026", "2026-06-01", "")
MOMENTS = (
    "2026-06-01",
    "2026-06-01T09:30:00Z",
    "2026-06-01T23:30:00-02:00",
    "2026-06-02 10:00",
    "2026-07",
    "2025-12-31T23:59:59.999Z",
)
NUMBERS = (3, 3.0, 4.5, 0, -1, 0.1, 2**53 + 1, 1e-9)
INTEGERS = (3, 4, -1, 2**53 + 1, 2**63 - 1)
FIELDS: dict[str, tuple[Any, ...]] = {
    "name": NAMES,
    "moment": MOMENTS,
    "day": tuple(moment.replace(" ", "T") for moment in MOMENTS),
    "number": NUMBERS,
    "count": (1, 2, 3, 2**31 - 1),
    "integer": INTEGERS,
    "ok": (True, False),
    "a.b": ("x", "y"),
}
DECLARED = {"day": "date", "count": "integer"}
ORDERED = ("moment", "day", "number", "count", "integer")


def documents() -> list[Document]:
    """Documents with many values, and with some fields missing."""
    random = Random(0)
    made = []
    for number in range(40):
        fields = {name: random.choice(values) for name, values in FIELDS.items()}
        present = random.sample(sorted(FIELDS), random.randrange(3, len(FIELDS) + 1))
        made.append(Document(f"doc-{number:02}", TEXT, {name: fields[name] for name in present}))
    # An index derives the type of a field from its first value.
    whole = Document("first", TEXT, {"number": 7, "integer": 7})
    return [whole, *made]


@pytest.fixture(scope="module")
def stores(
    opensearch_url: str, encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Corpus, Corpus]]:
    options = IndexOptions(fields=DECLARED)
    with (
        own_address(opensearch_url) as address,
        Corpus(tmp_path_factory.mktemp("filters") / "store", encoder) as local,
        Corpus(address, encoder, index=options) as remote,
    ):
        for corpus in (local, remote):
            corpus.add(documents())
        yield local, remote


def admitted(store: Store, where: Any) -> set[str] | str:
    """Ids of the documents that a filter admits, or why it is refused."""
    phrases = Phrases(("order",), np.full((1, 384), 384**-0.5, np.float32))
    query = Query(phrases, parse_where(where))
    try:
        candidates = store.rank(query, 1_000)
    except InputError as error:
        return str(error).partition("; ")[2]
    return {passage.doc_id for passage in candidates.load(candidates.keys).values()}


moments = st.sampled_from((*MOMENTS, "2026", "2026-06", "2026-06-01T09:30", "2027-01-01"))
numbers = st.one_of(
    st.sampled_from((*NUMBERS, *INTEGERS)),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(-5, 5).map(lambda number: round(number, 2)),
)
values = st.one_of(
    st.sampled_from((*NAMES, "AIRLINE", "zürich", "ZÜRICH", "none", "true")),
    moments,
    numbers,
    st.booleans(),
)
conditions = st.one_of(
    st.tuples(st.sampled_from(list(FIELDS)), st.fixed_dictionaries({"eq": values})),
    st.tuples(st.sampled_from(list(FIELDS)), st.fixed_dictionaries({"ne": values})),
    st.tuples(
        st.sampled_from(list(FIELDS)), st.fixed_dictionaries({"in": st.lists(values, max_size=4)})
    ),
    *(
        st.tuples(
            st.just(field),
            st.fixed_dictionaries({}, optional=dict.fromkeys(("lt", "lte", "gt"), bounds)).filter(
                bool
            )
            | st.fixed_dictionaries({"gte": bounds}),
        )
        for field in ORDERED
        for bounds in [moments if field in ("moment", "day") else numbers]
    ),
)


@settings(max_examples=150)
@example(where={"number": {"eq": -0.0}})
@example(where={"name": {"eq": ""}})
@example(where={"number": {"lt": 0.0}})
@example(where={"number": {"gte": 0.0}})
@given(where=st.lists(conditions, min_size=1, max_size=3).map(dict))
def test_both_stores_admit_the_same(stores: tuple[Corpus, Corpus], where: dict[str, Any]) -> None:
    local, remote = (admitted(corpus.store, where) for corpus in stores)
    assert local == remote


@pytest.mark.parametrize("field", ["moment", "day"])
def test_both_stores_have_the_same_days(stores: tuple[Corpus, Corpus], field: str) -> None:
    local, remote = stores
    assert local.days(field) == remote.days(field)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"nane": "x"}, r"no metadata field 'nane' \(did you mean 'name'\?\); there are 'a.b', "),
        ({"ok": {"gt": 3}}, "ok has values of type boolean; use = or !="),
        ({"day": {"gt": 3}}, "day has dates; compare it with one"),
        ({"number": {"gt": "2026-06-01"}}, "number has numbers; compare it with one"),
        ({"a.b": {"gt": 3}}, "a.b has no numbers or dates to compare, but '.', '.'; use = or !="),
    ],
)
def test_what_an_index_refuses(
    stores: tuple[Corpus, Corpus], where: dict[str, Any], message: str
) -> None:
    for wanted in (where, [*parse_where(where)]):
        with pytest.raises(InputError, match=message) as raised:
            stores[1].search("order", where=wanted)
        assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match=message):
        stores[1].mine("order", where=where)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"name": "airlines"}, "no passage has name 'airlines'; the nearest is '"),
        ({"number": {"gt": 1e300}}, "no passage has number > 1e+300; there are '"),
        ({"day": "1999-01-01"}, "no passage has day '1999-01-01'; "),
        ({"ok": "yes"}, "no passage has ok 'yes'; there are '"),
    ],
)
def test_an_index_tells_what_does_not_occur(
    stores: tuple[Corpus, Corpus],
    caplog: pytest.LogCaptureFixture,
    where: dict[str, Any],
    message: str,
) -> None:
    assert not stores[1].search("order", where=where)
    (record,) = (record for record in caplog.records if record.name == "slice_os")
    assert record.levelno == logging.WARNING
    assert message in record.getMessage()


def test_every_way_to_search_obeys(stores: tuple[Corpus, Corpus], opensearch_url: str) -> None:
    where = {"name": {"ne": "AIRLINE"}, "moment": {"lt": "2026-07"}, "number": {"gte": 0}}
    local, remote = stores
    expected = {hit.doc_id for hit in local.search("order", where=where, top_k=50)}
    assert 3 < len(expected) < 20
    location = remote.info().location

    async def ask() -> list[set[str]]:
        async with AsyncCorpus(location, remote.encoder) as corpus:
            found = await corpus.search("order", where=where, top_k=50)
            mined = [hit.doc_id async for hit in corpus.mine("order", threshold=0, where=where)]
        return [{hit.doc_id for hit in found}, set(mined)]

    for fusion in ("convex", "rrf", "cosine"):
        hits = remote.search("order", where=where, top_k=50, fusion=fusion)
        assert {hit.doc_id for hit in hits} == expected
    for exhaustive in (True, False):
        mined = remote.mine("order", threshold=0, where=where, exhaustive=exhaustive)
        assert {hit.doc_id for hit in mined} == expected
    assert asyncio.run(ask()) == [expected, expected]


def test_the_command_line_filters_and_exports(
    stores: tuple[Corpus, Corpus], capsys: pytest.CaptureFixture[str]
) -> None:
    place = ("--store", stores[1].info().location, "--filter", "name=ZURICH", "--filter", "count>1")
    status, out, err = call_cli(capsys, "search", "order", *place)
    assert (status, out) == (0, "")
    assert "no passage has name 'ZURICH'; the nearest is 'Zürich'\n" in err
    status, out, _ = call_cli(
        capsys, "index", "query", "order", *place[:2], "--filter", "name=AIRLINE"
    )
    assert status == 0
    (clause,) = orjson.loads(out)["candidates"]["lines"][3]["query"]["bool"]["filter"]
    assert set(clause["terms"]["metadata.name"]) == {"airline", "Airline"}


def test_too_many_texts_to_order(
    stores: tuple[Corpus, Corpus], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "MOST_VALUES", 3)
    message = "moment has more than 3 values as text.*`slice-os index reindex --field moment=TYPE"
    with pytest.raises(InputError, match=message):
        stores[1].search("order", where={"moment": {"gt": "2026-06-01"}})
    assert stores[1].search("order", where={"name": "bank"})


def test_an_index_with_the_former_types_of_fields(
    stores: tuple[Corpus, Corpus], opensearch: OpenSearch, index_name: str, tmp_path: Path
) -> None:
    """Before, integers and floats had the types that OpenSearch derives."""
    card = stores[0].encoder
    OpenSearchStore.create(opensearch, index_name, card)
    template = f"slice-os-{index_name}"
    index = f"{index_name}-000001"
    mapping = opensearch.indices.get_mapping(index=index)[index]["mappings"]
    kept = [rule for rule in mapping["dynamic_templates"] if "metadata_strings" in rule]
    opensearch.indices.put_mapping(index=index, body={"dynamic_templates": kept})
    assert opensearch.indices.exists_index_template(name=template)
    calls = [
        Document(str(n), TEXT, {"n": n, "half": n + 0.5, "day": f"2026-06-{n + 10}"})
        for n in range(9)
    ]
    with (
        Corpus(OpenSearchStore(opensearch, index_name), card) as remote,
        Corpus(tmp_path / "store", card) as local,
    ):
        for corpus in (local, remote):
            corpus.add(calls)
        fields = opensearch.indices.get_mapping(index=index)[index]["mappings"]["properties"]
        assert fields["metadata"]["properties"]["half"] == {"type": "float"}
        for where in (
            {"n": {"gt": 2.5, "lte": 6}},
            {"n": {"ne": 3}},
            {"n": [3, 4.0, 4.5]},
            {"half": {"gte": 2.5}},
            {"half": 3.5},
            {"day": {"gt": "2026-06-12", "lt": "2026-06-15"}},
            {"n": {"lt": -1e300}},
            {"n": {"gt": 2**63 - 1}},
        ):
            assert admitted(local.store, where) == admitted(remote.store, where)


def test_both_stores_find_documents_by_id(stores: tuple[Corpus, Corpus]) -> None:
    ids = sorted(stores[0])[:3]
    for where in ({"_id": ids[0]}, {"_id": ids}, {"_id": {"ne": ids}}, {"_id": "none"}):
        local, remote = (admitted(corpus.store, where) for corpus in stores)
        assert local == remote


def test_counts_by_a_number_know_all_of_its_documents(stores: tuple[Corpus, Corpus]) -> None:
    """However each store writes it: the field began with an integer, and fractions followed."""
    for corpus in stores:
        everywhere = documents_by(corpus, "number")
        mined = tally(corpus.mine("order", threshold=0, verify=False), "number")
        shares = {one.place: (one.documents, everywhere.get(value_key(one.place))) for one in mined}
        assert shares.pop("-")[1] is None
        assert len(shares) > 5
        assert all(documents == of for documents, of in shares.values()), shares


def test_both_stores_tell_the_values_of_fields(stores: tuple[Corpus, Corpus]) -> None:
    local, remote = (corpus.fields() for corpus in stores)
    assert local.keys() == remote.keys()
    assert remote["number"] == "number"
    for field in ("name", "ok"):
        local_values, remote_values = (
            {(one.value, one.documents) for one in corpus.field_values(field, 1_000)}
            for corpus in stores
        )
        assert local_values == remote_values
    assert documents_by(stores[0], "number") == documents_by(stores[1], "number")
    assert stores[1].field_values("day", None) == stores[1].field_values("day", 1_000)
    with pytest.raises(InputError, match="no metadata field 'nane'"):
        stores[1].field_values("nane")

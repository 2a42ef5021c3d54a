"""Rules and probabilities of English do not hold for texts in other languages."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from slice_os import Corpus, Document, SpanEncoder, scan
from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.token_model import TokenModel
from slice_os.query.options import MineOptions
from slice_os.search.around import units_in
from slice_os.search.listing import search_phrases
from slice_os.text.languages import language_of
from slice_os.topics import Topic
from slice_os.topics.run import mine_topics

GERMAN = (
    "Sehr geehrte Damen und Herren, am 3. Mai habe ich mit Ihrer Firma einen Vertrag über Strom "
    "geschlossen. Ich möchte den Vertrag kündigen, weil er mir zu teuer ist und die Abrechnung "
    "nicht stimmt 👋. Bitte schicken Sie mir eine Bestätigung zu."
)
SPANISH = (
    "Buenos días, el Sr. Gómez firmó con ustedes un contrato de luz en el mes de mayo. Ahora "
    "quiero cancelar el contrato porque es muy caro y la factura no está bien. ¿Me pueden enviar "
    "una confirmación por escrito? Muchas gracias por todo."
)
ENGLISH_WITH_NAMES = (
    "Maria de la Cruz and Juan de los Santos of Los Angeles met Ludwig van der Rohe und Söhne in "
    "San José. They want to cancel the contract about 'Die Zeit', which they did not renew in El "
    "Paso. The agency of Mr. del Río is at Calle de la Luna in Madrid."
)
RUSSIAN = "Здравствуйте, я хочу расторгнуть договор, потому что он слишком дорогой для меня."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "de"),
        (SPANISH, "es"),
        (RUSSIAN, "und"),
        (ENGLISH_WITH_NAMES, "en"),
        ("Ich möchte den Vertrag kündigen.", "en"),  # too short to tell
        ("我想取消订阅", "en"),
        (f"{ENGLISH_WITH_NAMES} He wrote: {GERMAN[:150]}", "en"),
        ("de la Cruz, de la Rosa, de la Vega, de la Torre, de los Santos " * 3, "en"),
        ("", "en"),
    ],
)
def test_a_text_is_english_unless_another_language_is_clear(text: str, language: str) -> None:
    assert language_of(Document("a", text)) == language
    assert language_of(Document("a", text, language="en")) == "en"


def test_the_probability_of_english_is_for_english(
    encoder: SpanEncoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    english = Document("en", "Hello. I want to cancel the contract, because it is too dear.")
    documents = [english, Document("de", GERMAN), Document("es", SPANISH), Document("ru", RUSSIAN)]
    phrases = ["I want to cancel the contract", "Vertrag kündigen"]
    with Corpus(tmp_path / "store", encoder) as corpus:
        with caplog.at_level(logging.WARNING, "slice_os"):
            corpus.add(documents)
        (told,) = [record.getMessage() for record in caplog.records]
        assert told.startswith("document 'de' is not in English (de): ")
        found = [
            *corpus.search(phrases, top_k=20),
            *corpus.mine(phrases),
            *corpus.mine(phrases, verify=False),
            *corpus.mine(phrases, min_probability=0.3, verifier="similarity"),
            *scan(documents, phrases, encoder=encoder),
            *mine_topics(corpus, [Topic("cancel", tuple(phrases))]),
        ]
        search = search_phrases(corpus.store, corpus.encoder, phrases, MineOptions())
        assert {hit.doc_id for hit in search.hits()} == {"en", "de"}
        listed = {one.doc_id: one for one in search.documents(corpus, "without")}
    for hit in found:
        text = next(one.text for one in documents if one.id == hit.doc_id)
        assert text[hit.start : hit.end] == hit.text
        assert (hit.probability is None) == (hit.doc_id != "en")
        assert (hit.clause is None) == (hit.doc_id != "en")
        if hit.doc_id != "en":
            assert (hit.band, hit.reasons, hit.matches) == (None, (), ())
    # Where no probability can decide, the cosine does.
    mined = [hit for hit in found if hit.doc_id == "de" and hit.cosine >= 0.6]
    assert len({hit.text for hit in mined}) == 1
    assert [listed[one].finding for one in ("en", "de", "es")] == ["has", "has", "lacks"]
    nearest = listed["es"].nearest
    assert nearest is not None
    assert (nearest.probability, nearest.cosine < 0.6) == (None, True)


class Words:
    """An engine whose vectors are those of its word pieces, without context."""

    workers, batch_pieces = 1, 1_000

    def __init__(self, vectors: FloatArray) -> None:
        self._vectors = vectors

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        del mask
        return self._vectors[ids]


@pytest.fixture(scope="module")
def own(encoder: SpanEncoder, tmp_path_factory: pytest.TempPathFactory) -> SpanEncoder:
    """An encoder with a tokenizer of two languages, in which words of one meaning are one."""
    folder = tmp_path_factory.mktemp("own")
    tokenizer = Tokenizer(models.BPE(unk_token="?"))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(special_tokens=["?", "<s>", "</s>"], show_progress=False)
    tokenizer.train_from_iterator([GERMAN, SPANISH] * 9, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    random = np.random.default_rng(0)
    vectors = random.standard_normal((tokenizer.get_vocab_size(), 64)).astype(np.float32)
    for german, spanish in (("Vertrag", "contrato"), ("kündigen", "cancelar"), ("den", "el")):
        vectors[tokenizer.token_to_id(spanish)] = vectors[tokenizer.token_to_id(german)]
    card = replace(encoder.card, encoder_id="0" * 16, name="own", dimension=64, threshold=0.7)
    aligner = Aligner(folder / "tokenizer.json")
    return SpanEncoder(TokenModel(card, aligner, Words(vectors), folder))


def test_an_encoder_of_ones_own_reads_other_languages(
    own: SpanEncoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = {one.id: one for one in (Document("de", GERMAN), Document("es", SPANISH))}
    with Corpus(tmp_path / "store", own) as corpus:
        corpus.add(documents.values())
        hits = corpus.mine("den Vertrag kündigen")
        sentences = {doc_id: corpus.units(doc_id) for doc_id in documents}
        wide = corpus.mine("den Vertrag kündigen", unit="clause")
    assert [(hit.doc_id, hit.text) for hit in hits] == [
        ("de", "den Vertrag kündigen"),
        ("es", "cancelar el contrato"),
    ]
    assert [hit.text for hit in wide] == [hit.text for hit in hits]  # no clauses, nothing wrong
    for hit in hits:
        text = documents[hit.doc_id].text
        assert text[hit.start : hit.end] == hit.text
        assert (hit.probability, hit.reasons, hit.clause) == (None, (), None)
        assert hit.sentence is not None
        sentence = text[hit.sentence.start : hit.sentence.end]
        assert sentence.startswith(("Ich möchte", "Ahora quiero"))
        assert sentence.endswith(("stimmt 👋.", "no está bien."))
    for doc_id, document in documents.items():
        assert sentences[doc_id] == units_in(document)
        assert len(sentences[doc_id]) == {"de": 3, "es": 4}[doc_id]  # "3. Mai" and "Sr. Gómez"
    assert not caplog.records  # what was not made for English needs no warning

"""Objectives against naive versions over spans that are really made."""

from __future__ import annotations

from random import Random

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra `train`")

from slice_os.text.words import touched_words  # noqa: E402
from slice_os.training.objectives import OBJECTIVES  # noqa: E402
from slice_os.training.objectives.contextual import Contextual, Senses, substitute  # noqa: E402
from slice_os.training.objectives.distillation import SpanDistillation  # noqa: E402
from slice_os.training.objectives.objective import at_dimensions, contrast, cosent  # noqa: E402
from slice_os.training.objectives.slice_loss import (  # noqa: E402
    GradedSpans,
    InBatchLoss,
    SliceLoss,
)
from slice_os.training.record_types import Pair, Passage, Sense, Substitution, Triple  # noqa: E402
from slice_os.training.span_tensors import best_cosines, span_cosines, text_vectors  # noqa: E402
from slice_os.training.teachers import OneTeacher  # noqa: E402

TRIPLES = [
    Triple("the cat", "a big cat, sleeping on the mat.", ("a dog running", "piano and guitar")),
    Triple("river bank", "the man went to the river", ("the woman paid", "a red stone house")),
    Triple("man running", "in the park a man is quickly running", ("blue water", "the mat")),
]
PAIRS = [
    Pair("a cat", "the cat", 0.9, Passage("on the mat, the cat was sleeping", 12, 19)),
    Pair("a dog", "red piano", 0.1, Passage("a man and a red piano", 12, 21)),
    Pair("big house", "small house", 0.5, Passage("the small house of stone", 4, 15)),
]
SUBSTITUTIONS = [
    Substitution("the man went near the bank", 22, 26, ("river bank",), ("money house",)),
    Substitution("Banks of stone and water", 0, 5, ("river stone",), ("house",)),
]

SENSES = [
    Sense("the man went near the bank", 22, 26, "land near a river", ("a house of money",)),
    Sense("the woman paid the bank", 19, 23, "a house of money", ("land near a river", "stone")),
]


def alone(encoder) -> OneTeacher:
    """An encoder as a teacher."""
    return OneTeacher(encoder, [pair.first for pair in PAIRS])


def naive_best(encoder, text: str, query, max_words: int, min_words: int = 1):
    """The best cosine over spans whose mean vectors are made one by one."""
    aligned = encoder.align(text)
    vectors = encoder.encode([text]).vectors[0].double()
    cosines = [
        torch.cosine_similarity(
            vectors[aligned.words[i, 2] : aligned.words[j - 1, 3]].mean(dim=0),
            query.double(),
            dim=0,
        )
        for i in range(len(aligned.words))
        for j in range(i + min_words, min(i + max_words, len(aligned.words)) + 1)
    ]
    return torch.stack(cosines).max()


def gradients(encoder, loss):
    encoder.network.zero_grad()
    loss.backward()
    encoder.replay()
    return {
        name: parameter.grad.clone()
        for name, parameter in encoder.network.named_parameters()
        if parameter.grad is not None
    }


def assert_same(left: dict, right: dict, tolerance: float = 1e-4) -> None:
    assert left.keys() == right.keys()
    for name, gradient in left.items():
        torch.testing.assert_close(gradient, right[name], rtol=1e-3, atol=tolerance)


@pytest.mark.parametrize("bounds", [(1, 10), (2, 3)])
def test_the_papers_loss_and_its_gradient_are_those_of_materialised_spans(encoder, bounds):
    low, high = bounds
    scale = 30.0
    naive = 0.0
    for triple in TRIPLES:
        query = text_vectors(encoder.encode([triple.query]))[0]
        true, false = (
            (1 + naive_best(encoder, text, query, high, low)) / 2
            for text in (triple.positive, triple.negatives[0])
        )
        both = torch.log(torch.exp(scale * true) + torch.exp(scale * false))
        naive = naive + (-scale * true + both) / len(TRIPLES)
    fast = SliceLoss(scale=scale, min_words=low, max_words=high)(
        TRIPLES, encoder, alone(encoder), Random(0)
    )
    assert float(fast.detach()) == pytest.approx(float(naive.detach()), abs=1e-4)
    assert_same(gradients(encoder, fast), gradients(encoder, naive.float()), 1e-3)


def test_in_batch_loss_is_cross_entropy_over_every_passage(encoder):
    passages = [t.positive for t in TRIPLES] + [n for t in TRIPLES for n in t.negatives]
    rows = []
    for index, triple in enumerate(TRIPLES):
        query = text_vectors(encoder.encode([triple.query]))[0]
        similarities = torch.stack([(1 + naive_best(encoder, p, query, 10)) / 2 for p in passages])
        rows.append(torch.nn.functional.cross_entropy(30 * similarities, torch.tensor(index)))
    loss = InBatchLoss(negatives=2)(TRIPLES, encoder, alone(encoder), Random(0))
    assert float(loss.detach()) == pytest.approx(float(torch.stack(rows).mean().detach()), abs=1e-4)


def test_triples_of_one_query_are_not_negatives_of_each_other(encoder):
    first, second = TRIPLES[0], TRIPLES[1]
    same = Triple(first.query, second.positive, second.negatives)
    objective = InBatchLoss(negatives=0)
    both = objective([first, same], encoder, alone(encoder), Random(0))
    assert float(both.detach()) == pytest.approx(0.0, abs=1e-6)


def test_all_queries_against_all_texts_agree_with_one_by_one(encoder):
    texts = [triple.positive for triple in TRIPLES]
    queries = text_vectors(encoder.encode([triple.query for triple in TRIPLES]))
    best = best_cosines(encoder.encode(texts), queries[None], max_words=4)
    for row, text in enumerate(texts):
        for column, query in enumerate(queries):
            expected = float(naive_best(encoder, text, query, 4).detach())
            assert float(best[row, column].detach()) == pytest.approx(expected, abs=1e-5)


def test_spans_that_do_not_fit_are_left_out(encoder):
    states = encoder.encode(["the cat", "a man is running in the park"])
    cosines = span_cosines(states, text_vectors(states)[:, None], max_words=3)
    assert cosines.shape == (2, 1, 7, 3)
    assert int(torch.isfinite(cosines[0]).sum()) == 3
    assert int(torch.isfinite(cosines[1]).sum()) == 7 + 6 + 5


def test_gradients_in_parts_are_those_of_the_whole(make_encoder):
    whole, parts = make_encoder(), make_encoder(chunk=24)
    objective = InBatchLoss()
    expected = gradients(whole, objective(TRIPLES, whole, whole, Random(0)))
    assert_same(gradients(parts, objective(TRIPLES, parts, parts, Random(0))), expected, 1e-5)


def test_gradients_in_parts_see_the_same_dropout(make_encoder):
    encoder = make_encoder(chunk=24)
    encoder.network.train()
    torch.manual_seed(3)
    first = gradients(encoder, SliceLoss()(TRIPLES, encoder, alone(encoder), Random(0)))
    torch.manual_seed(3)
    assert_same(
        gradients(encoder, SliceLoss()(TRIPLES, encoder, alone(encoder), Random(0))), first, 1e-7
    )


def test_distillation_is_nothing_where_context_does_not_matter(encoder):
    """A student that reads a whole text as one span has nothing to learn from itself."""
    batch = [Passage("cat"), Passage("piano")]
    objective = SpanDistillation(spans=1, isolated=2)
    loss = objective(batch, encoder, alone(encoder), Random(0))
    assert float(loss.detach()) == pytest.approx(0, abs=1e-5)


def test_distillation_brings_spans_nearer_to_the_teacher(make_encoder):
    student, teacher = make_encoder(), make_encoder()
    batch = [Passage("a man and a woman, playing piano in the park"), Passage("the red house")]
    objective = SpanDistillation(spans=6)
    optimizer = torch.optim.Adam(student.network.parameters(), lr=2e-3)
    before = float(objective(batch, student, alone(teacher), Random(1)).detach())
    for step in range(20):
        optimizer.zero_grad()
        objective(batch, student, alone(teacher), Random(step)).backward()
        optimizer.step()
    assert float(objective(batch, student, alone(teacher), Random(1)).detach()) < before


def test_contextual_ranks_right_substitutes_above_wrong_ones(make_encoder):
    student = make_encoder()
    objective = Contextual()
    optimizer = torch.optim.Adam(student.network.parameters(), lr=2e-3)
    before = float(objective(SUBSTITUTIONS, student, alone(student), Random(1)).detach())
    for _ in range(10):
        optimizer.zero_grad()
        objective(SUBSTITUTIONS, student, alone(student), Random(1)).backward()
        optimizer.step()
    assert float(objective(SUBSTITUTIONS, student, alone(student), Random(1)).detach()) < before


def test_senses_are_told_apart_by_cross_entropy(encoder):
    rows = []
    candidates = [sense.definition for sense in SENSES]
    candidates += [other for sense in SENSES for other in sense.others]
    definitions = text_vectors(encoder.encode(candidates))
    for index, sense in enumerate(SENSES):
        aligned = encoder.align(sense.text)
        begin, end = touched_words(aligned.words, sense.start, sense.end)
        vectors = encoder.encode([sense.text]).vectors[0]
        word = vectors[aligned.words[begin, 2] : aligned.words[end - 1, 3]].mean(dim=0)
        cosines = torch.nn.functional.cosine_similarity(definitions, word, dim=1)
        rows.append(torch.nn.functional.cross_entropy(20 * cosines, torch.tensor(index)))
    loss = Senses()(SENSES, encoder, alone(encoder), Random(0))
    assert float(loss.detach()) == pytest.approx(float(sum(rows).detach()) / 2, abs=1e-4)


def test_a_substitute_takes_over_the_capital():
    placed = substitute(SUBSTITUTIONS[1], "river stones")
    assert placed.text == "River stones of stone and water"
    assert placed.text[placed.start : placed.end] == "River stones"


def test_graded_spans_rank_the_best_span_by_score(encoder):
    best = torch.stack(
        [
            naive_best(encoder, p.passage.text, text_vectors(encoder.encode([p.first]))[0], 20)
            for p in PAIRS
        ]
    )
    scores = torch.tensor([p.score for p in PAIRS])
    first, second = (
        text_vectors(encoder.encode([getattr(p, name) for p in PAIRS]))
        for name in ("first", "second")
    )
    wanted = 0.7 * (first * second).sum(dim=1) + 0.3 * scores
    for objective, expected in (
        (GradedSpans(), cosent(best, scores, 20.0)),
        (
            GradedSpans(ranking=0.0, regression=2.0, score_share=0.3),
            2 * (best - wanted).square().mean(),
        ),
    ):
        loss = objective(PAIRS, encoder, alone(encoder), Random(0))
        assert float(loss.detach()) == pytest.approx(float(expected.detach()), abs=1e-3)


def test_cosent_counts_only_pairs_in_the_wrong_order():
    scores = torch.tensor([0.0, 0.5, 1.0])
    sorted_well = cosent(torch.tensor([-1.0, 0.0, 1.0]), scores, 50.0)
    assert float(sorted_well) == pytest.approx(0, abs=1e-6)
    assert float(cosent(torch.tensor([1.0, 0.0, -1.0]), scores, 50.0)) == pytest.approx(100, abs=1)
    assert float(cosent(torch.tensor([0.3, 0.1, 0.2]), torch.ones(3), 50.0)) == 0


def test_contrast_is_cross_entropy():
    similarities = torch.tensor([[0.9, 0.1, -torch.inf], [0.2, 0.4, 0.3]])
    expected = torch.nn.functional.cross_entropy(
        20 * similarities, torch.zeros(2, dtype=torch.long)
    )
    assert float(contrast(similarities, 20)) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize(
    ("objective", "batch"),
    [
        (SliceLoss(), TRIPLES),
        (InBatchLoss(), TRIPLES),
        (SpanDistillation(spans=3, isolated=4), [Passage("a man is running in the park")]),
        (Contextual(), SUBSTITUTIONS),
        (Senses(), SENSES),
        (GradedSpans(), PAIRS),
    ],
)
def test_matryoshka_is_the_mean_over_dimensions(encoder, objective, batch):
    assert type(objective) in OBJECTIVES.values()
    one = [
        at_dimensions(objective, [d], batch, encoder, alone(encoder), Random(5)) for d in (16, 8)
    ]
    both = at_dimensions(objective, [16, 8], batch, encoder, alone(encoder), Random(5))
    assert float(both.detach()) == pytest.approx(float(sum(one).detach()) / 2, abs=1e-5)
    plain = objective(batch, encoder, alone(encoder), Random(5))
    assert float(one[0].detach()) == pytest.approx(float(plain.detach()), abs=1e-5)


def test_touched_words(encoder):
    words = encoder.align("the red, red piano").words
    assert touched_words(words, 4, 12) == (1, 3)
    assert touched_words(words, 9, 18) == (2, 4)

"""The wording verifier: what the wording of a phrase and a hit says differently, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import ModelError
from slice_os.verifier.claims import Claim
from slice_os.verifier.wording.amounts import find_amounts, unmatched
from slice_os.verifier.wording.comparison import FEATURES, compare_wording
from slice_os.verifier.wording.moods import (
    asks,
    denials,
    denied_words,
    may_ask,
    only_unless,
    past_words,
    requests,
    same_result,
    with_ban,
)
from slice_os.verifier.wording.reading import ClaimReader
from slice_os.verifier.wording.verifier import WordingVerifier, read_weights
from slice_os.verifier.wording.words import converse, opposite, word_list


@pytest.fixture(scope="module")
def encoder() -> SpanEncoder:
    return SpanEncoder(threads=1)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("within 14 days", "within two weeks", True),
        ("within 14 days", "within two months", False),
        ("for $1,500", "for 1500 dollars", True),
        ("ninety-five of them", "95 of them", True),
        ("at a quarter past five", "at 5:15", True),
        ("at 5 pm", "at 17:00", True),
        ("at 8 am", "at 8 pm", False),
        ("half a dozen", "six", True),
        ("by half", "by 50 percent", True),
        ("on mondays", "on fridays", False),
        ("two million", "2,000,000", True),
        ("12.5 million", "1.25 million", False),
        ("80 a night", "80 a week", False),
    ],
)
def test_amounts_are_the_same_however_they_are_written(first: str, second: str, same: bool) -> None:
    ours, theirs = find_amounts(first), find_amounts(second)
    assert ours
    assert theirs
    assert (not unmatched(ours, theirs)) is same


def test_denials_are_counted_without_idioms() -> None:
    assert denials("he never said he wouldn't") == (2, 0)
    assert denials("she refused to come") == (0, 1)
    assert denials("no fewer than ten, no doubt") == (0, 0)
    assert denials("no, thank you, I can't wait, it is not bad") == (0, 0)
    assert denials("including without limitation, without undue delay") == (0, 0)
    assert denials("neither the buyer nor the seller pays") == (1, 0)
    assert denials("I no longer live there") == (1, 0)
    assert denials("no nothing else, thanks") == (1, 0)
    assert denials("approval is not unreasonably delayed") == (1, 1)
    assert denials("they discontinued the service") == (0, 1)


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("someone used my card without my permission", {"permission"}),
        ("the parcel hasn't arrived yet", {"arrived"}),
        ("he isn't entitled to withhold payment", {"withhold"}),
        ("they refuse to refund me", {"refund", "refuse"}),
        ("the fee is unrefundable", {"fee", "unrefundable"}),
        ("I said no", {"said"}),
    ],
)
def test_denials_are_about_words(text: str, denied: set[str]) -> None:
    assert denied <= denied_words(text)
    assert "card" not in denied_words(text)


@pytest.mark.parametrize(
    ("text", "after", "asked"),
    [
        ("is my card blocked", "", True),
        ("my card is blocked", "? I wonder", True),
        ("could you check whether it is blocked", "", True),
        ("my card is blocked", ". Is it?", False),
        ("and shall automatically renew for one year", "", False),
        ("is automatically renewed", "", False),
        ("is breakfast included", "", True),
        ("what a nice garden", "", False),
        ("what we ordered was cold", "", False),
        ("was it good", "!", False),
        ("which approval shall not be delayed", "", False),
        ("which tariff do you offer", "", True),
    ],
)
def test_questions_are_told_from_statements(text: str, after: str, asked: bool) -> None:
    assert asks(text, after) is asked


def test_short_questions_need_no_question_mark() -> None:
    assert may_ask("any discounts today")
    assert may_ask("for that how much should i pay")
    assert may_ask("i want to check my bill")
    assert not may_ask("we don't have any discounts")
    assert not may_ask("the bill is too high")


def test_requests_can_be_questions() -> None:
    assert requests("could you send me the bill")
    assert requests("please send me the bill")
    assert requests("i need the bill")
    assert not requests("do i need a bill")


def test_unless_after_a_denial_says_must() -> None:
    said = only_unless("no change is valid ", "unless it is signed")
    assert denials(said) == (0, 0)
    assert only_unless("the fee is due ", "unless it is waived") == "unless it is waived"


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("the parcel arrived", ["arrived"]),
        ("nobody is liable for losses caused by fire", []),
        ("it can be paid by card", []),
        ("it replaces everything we promised", []),
    ],
)
def test_past_words_tell_the_past(text: str, past: list[str]) -> None:
    assert past_words(text.split(), text) == past


def test_an_event_has_the_result_that_is_told() -> None:
    assert same_result("the window is cracked", "the window just got broken")
    assert not same_result("the shop is closed", "the shop was closed on mondays")


def test_words_have_opposites_and_converses() -> None:
    assert opposite("happy", "unhappy")
    assert opposite("accepted", "rejected")
    assert not opposite("happy", "happily")
    assert converse("buy", "sold")
    assert not converse("buy", "bought")


@pytest.mark.parametrize(
    ("phrase", "text", "reason"),
    [
        ("I will go to another shop", "I would never go to another shop", "negated here"),
        ("someone used my card without permission", "she had permission", "not negated here"),
        ("I no longer live there", "I live there", "not negated here"),
        ("I forgot my password", "my password is", "not negated here"),
        ("they refuse to refund me", "they refunded me", "not negated here"),
        ("the price is affordable", "it is unaffordable", "affordable ≠ unaffordable"),
        ("payment within 30 days", "payment within 90 days", "30 days ≠ 90 days"),
        ("my card is blocked", "is my card blocked?", "asks, does not say"),
        ("the Buyer indemnifies the Seller", "the Seller indemnifies the Buyer", "other way round"),
        ("the parcel was shipped", "the parcel will be shipped", "another time"),
        ("the license is exclusive", "the license is non-exclusive", "exclusive ≠ non-exclusive"),
        ("the Tenant must pay monthly", "the Tenant may pay monthly", "allowed, not required"),
        ("all members agreed", "some members agreed", "not all"),
        ("the waiter was rude", "the waiter is rude", "in the present here"),
        ("the pool is closed", "the pool was closed", "in the past here"),
        ("the pool is closed", "the pool was closed last year", "another time"),
        ("I lent Tom money", "Tom lent me money", "other way round"),
        ("you must not park here", "you don't have to park here", "allowed, not required"),
        ("the buyer may not resell", "the buyer may resell", "allowed, not required"),
        ("liability is limited", "liability shall not be limited", "negated here"),
        ("the buyer was paid by the seller", "the seller was paid by the buyer", "other way round"),
    ],
)  # fmt: skip
def test_reasons_name_what_differs(
    encoder: SpanEncoder, phrase: str, text: str, reason: str
) -> None:
    (reading,) = ClaimReader(encoder).read([Claim(phrase, text, 0, len(text.rstrip("?")))])
    assert reason in compare_wording(reading).reasons


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("the landlord repairs the boiler", "the boiler is repaired by the landlord"),
        ("the shop sold Mary the bike", "Mary bought the bike from the shop"),
        ("the door is open", "the door is not shut"),
        ("within 14 days", "within two weeks"),
        ("I did not pay", "I never paid"),
        ("someone used my card without permission", "a stranger paid with my card"),
        ("someone used my card without permission", "somebody charged my card without asking me"),
        ("I won't stay unless you pay", "I will stay if you pay"),
        ("neither of us can come", "we both can't make it"),
        ("the app fails to load", "the app does not load"),
        ("I no longer live there", "I don't live there anymore"),
        ("they refuse to refund me", "they won't give me my money back"),
        ("he denies that he took it", "he says he did not take it"),
        ("I can't wait to see you", "I'm looking forward to seeing you"),
        ("I want to cancel my subscription", "i want to cancel"),
        ("I want to cancel my subscription", "i want to cancel my plan"),
        ("it doesn't work", "it ain't working"),
        ("I am unable to log in", "I cannot log in"),
        ("the parcel hasn't arrived", "I'm still waiting for the parcel"),
        ("information must be kept secret", "the recipient shall not disclose information"),
        ("the door of my car is dented", "my car door is dented"),
        ("please write to us if you need help", "if you need help, please write to us"),
        ("I need proof of payment for my order", "a payment proof of my order"),
        ("my window is cracked", "my window just got cracked"),
        ("the error is fixed now", "now the error was solved"),
        (
            "approval must not be denied without a good reason",
            "approval is not unreasonably denied",
        ),
        ("amendments must be in writing", "no amendment is valid unless it is in writing"),
        ("amendments must be in writing", "it may be amended only in writing"),
        ("nothing else is needed", "no nothing else needed"),
        ("quit using our logo", "discontinue all use of the logo"),
        ("do you have any discounts today?", "any discounts today"),
        ("how long will it take?", "ok for that how long will it take"),
        ("please send me the bill", "can you send me the bill"),
        ("a notice of any claim must be given", "notice of any claim"),
        ("every guest pays ten dollars", "everyone pays ten bucks or something"),
        ("I am worried about my mother", "I'm worried about my mother"),
        ("You have changed since I saw you", "You've changed since I saw you"),
        ("he is obliged to invite her", "she is obliged to be invited by him"),
        ("Tom called Mary", "Tom phoned Mary"),
        ("Tom doesn't like school", "Tom dislikes school"),
        ("are you listening", "aren't you listening"),
        ("you were lying", "you were lying, weren't you"),
        ("I wonder if he likes it", "I wonder whether he likes it or not"),
        ("it is too hot to drink", "it is so hot that I can't drink it"),
        ("the lamp seems bright", "the lamp seems quite bright"),
        ("we had a fantastic holiday", "we had a wonderful holiday"),
        ("he may have missed the train", "he might have missed the train"),
        ("I could not get out", "I couldn't get out"),
        ("do you want anything", "do you want something"),
        ("don't do that", "do not do that"),
        ("I forgot my password", "I can't remember my password"),
        ("I don't have my account number", "I lost my account number"),
        ("I am unhappy with your service", "I am not happy with your service"),
        ("how long do you plan to stay", "how long do you want to stay"),
        ("the buyer may not resell", "the buyer shall not resell, except for spare parts"),
        ("either party may not assign without consent", "neither shall assign without consent"),
        ("no assignment without consent", "a party may not assign save with consent"),
        ("smoking is not allowed", "no smoking shall be allowed"),
        ("the room has no fridge", "the room has no fridge and no kettle"),
        ("he never called", "he never called, not once"),
        ("he is not liable for lost profits", "he is not liable for the loss of profit"),
    ],
)
def test_what_says_the_same_has_no_reasons(encoder: SpanEncoder, phrase: str, text: str) -> None:
    (reading,) = ClaimReader(encoder).read([Claim(phrase, text, 0, len(text))])
    compared = compare_wording(reading)
    assert compared.reasons == ()
    assert compared.features.shape == (len(FEATURES),)


def test_a_ban_holds_on_in_its_sentence() -> None:
    earlier = "all is sold. neither party shall, without consent, "
    said = with_ban(earlier, "sell or assign the contract")
    assert denials(said) == (1, 0)
    assert with_ban(earlier, "it may assign the contract") == "it may assign the contract"
    assert with_ban(f"{earlier}pay.", "assign the contract") == "assign the contract"


def test_a_denial_before_the_span_counts(encoder: SpanEncoder) -> None:
    text = "Well, I would never go to another provider."
    (reading,) = ClaimReader(encoder).read([Claim("I will change provider", text, 19, 42)])
    assert "negated here" in compare_wording(reading).reasons


def test_every_person_can_be_compared(encoder: SpanEncoder) -> None:
    for word in word_list("subjects") | word_list("objects"):
        text = f"{word} call him"
        (verdict,) = WordingVerifier(encoder).check(
            [Claim(f"he said {word} call", text, 0, len(text))]
        )
        assert 0 < verdict.probability < 1


def test_verdicts_rank_what_says_it_above_a_contrast(encoder: SpanEncoder) -> None:
    verifier = WordingVerifier(encoder)
    said, denied = "my order got here on Friday", "my order has never arrived"
    claims = [Claim("my order has arrived", text, 0, len(text)) for text in (said, denied)]
    first, second = verifier.check(claims)
    assert first.probability > second.probability
    assert second.reasons == ("negated here",)
    assert verifier.check(claims[1:]) == [second]
    assert verifier.check([]) == []


def test_no_cosine_makes_up_for_what_the_wording_says(encoder: SpanEncoder) -> None:
    wording, both = WordingVerifier(encoder, about=False), WordingVerifier(encoder)
    text = "my order has never arrived"
    claims = [Claim("my order has arrived", text, 0, len(text), prior) for prior in (0.001, 1.0)]
    far, near = both.check(claims)
    assert far.probability < near.probability <= wording.check(claims)[0].probability < 0.5


def test_without_a_prior_the_cosine_is_calibrated(encoder: SpanEncoder) -> None:
    verifier = WordingVerifier(encoder)
    text = "my parcel got here"
    claim = Claim("my order has arrived", text, 0, len(text))
    (reading,) = ClaimReader(encoder).read([claim])
    assert verifier.check([claim]) == verifier.check([replace(claim, prior=reading.prior)])


def test_weights_of_another_encoder_are_refused(encoder: SpanEncoder) -> None:
    with pytest.raises(ModelError, match="belongs to encoder other"):
        WordingVerifier(encoder, replace(read_weights(), encoder_id="other"))

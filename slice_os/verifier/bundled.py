"""The bundled verifiers: how near the words are, and a network that reads, decided together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import ModelError
from slice_os.hits.bands import UNSURE_FROM, reaches
from slice_os.text.clause_words import meaning_of
from slice_os.text.documents import ENGLISH
from slice_os.verifier.claims import Claim, Verdict, Verdicts
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.decision import log_odds, probability_of, read_decision
from slice_os.verifier.similarity import Similarity, SimilarityReader, numbers_of

NETWORK = Path(__file__).parents[1] / "models" / "slice-verify"
"""The network's folder, which recipes/verifier.py makes."""

# Names something without saying it. The network hears statements in it, and no things.
_NAMING = "I called about the {} twice."


class SimilarityVerifier:
    """Estimates whether hits are about the same as their phrase, by the vectors of their words.

    A denial, another number or exchanged parties make no difference to it.

    Raises a `ModelError` if the bundled weights belong to another encoder.
    """

    language = ENGLISH

    def __init__(self, encoder: SpanEncoder) -> None:
        self._reader, self._decision = SimilarityReader(encoder), read_decision()
        if self._decision.encoder_id != encoder.card.encoder_id:
            raise ModelError(
                f"the bundled verifier belongs to encoder {self._decision.encoder_id}, not "
                f"{encoder.card.encoder_id}; fit it again"
            )

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim, with the words that match; none depends on the others."""
        said, odds = self._near(claims)
        return [
            Verdict(probability_of(near), matches=one.matches)
            for near, one in zip(odds, said, strict=True)
        ]

    def estimate(self, claims: Sequence[Claim]) -> list[float]:
        """Log-odds by the similarity alone, which cost little."""
        return self._near(claims)[1]

    def _near(self, claims: Sequence[Claim]) -> tuple[list[Similarity], list[float]]:
        found = self._reader.read(claims)
        return found, self._decision.nearness(numbers_of(found)).tolist()


class BundledVerifier(SimilarityVerifier):
    """Compares words as `SimilarityVerifier`, and reads phrase and hit side by side."""

    def __init__(self, encoder: SpanEncoder) -> None:
        super().__init__(encoder)
        self._network = CrossEncoderVerifier(NETWORK)

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim, with evidence for and against; none depends on the others."""
        return list(self.begin(claims)())

    def begin(self, claims: Sequence[Claim]) -> Verdicts:
        """As `check`, but returns while the network reads; call the result for the verdicts."""
        names = [*filter(None, map(naming, sorted({claim.phrase for claim in claims})))]
        verdicts = self._network.begin([*claims, *names])
        said, odds = self._near(claims)

        def together() -> list[Verdict]:
            read = verdicts()
            heard = {
                name.phrase: log_odds(one.probability)
                for name, one in zip(names, read[len(claims) :], strict=True)
            }
            return [
                self._together(one, heard.get(claim.phrase), near, similar)
                for claim, one, near, similar in zip(claims, read, odds, said, strict=False)
            ]

        return together

    def _together(
        self, read: Verdict, heard: float | None, near: float, said: Similarity
    ) -> Verdict:
        odds = self._decision.together(log_odds(read.probability), near, heard)
        probability = probability_of(odds)
        # Of an unlikely hit, the words that the network holds against it.
        reasons = () if reaches(probability, UNSURE_FROM) else read.reasons
        return Verdict(probability, reasons, said.matches)


def naming(phrase: str) -> Claim | None:
    """The claim that a sentence which merely names a phrase says it; None if it has a verb."""
    text, start = _NAMING.format(phrase), _NAMING.index("{")
    claim = Claim(phrase, text, start, start + len(phrase))
    return None if meaning_of(phrase).verb else claim

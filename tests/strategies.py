"""Texts that are hard to split, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

HARD_FRAGMENTS = [
    *("👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "1️⃣", "❤️", "👍🏽", "e\u0301", "\u0301", "ñ", "ﬁne", "½", "\r\n"),
    *("\n", "\t", "\u2028", "\xa0", "\u3000", "\ufeff", "\0", "\x1c", "\x85", "\u200b", "\u200d"),
    *("\u202e", "שלום", "مرحبا بك", "नमस्ते", "한국어", "我想取消订阅。", "カタカナー", "ภาษาไทย"),
    *("word", "Non-refundable", "O'Neill", "3,000.50", "a@b.org", "snake_case", "_____", "..."),
    *("—", "(", ")", "$", "§ 5", "x" * 150, "a-" * 40, "[UNK]", "[SEP]", "##ing", "𝒜𝓁𝓅𝒽𝒶", "𐍈"),
    *("\U0010ffff", " ", "  ", ". ", "! "),
]


def hard_texts(max_fragments: int = 30) -> st.SearchStrategy[str]:
    """Texts in every script with fragments that break offsets; no lone surrogates."""
    anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    fragments = st.lists(st.sampled_from(HARD_FRAGMENTS) | anything, max_size=max_fragments)
    return fragments.map("".join)

"""A store as notebooks show it: short HTML, everything in it escaped."""

from __future__ import annotations

from html import escape

from slice_os.hits.notebook import NUMBER, TABLE, TEXT
from slice_os.stores.protocol import StoreInfo


def corpus_html(name: str, info: StoreInfo) -> str:
    """What a store holds.

    Args:
        name: of the corpus, for people.
        info: its counts.
    """
    megabytes = f"{info.size_bytes / 1e6:,.1f} MB"
    facts = {
        "documents": f"{info.documents:,}",
        "passages": f"{info.passages:,}",
        "words": f"{info.words:,}",
        "encoder": info.encoder.name,
        "on disk": megabytes,
    }
    rows = "".join(
        f'<tr><th scope="row" style="{TEXT}">{label}</th>'
        f'<td style="{NUMBER}">{escape(value)}</td></tr>'
        for label, value in facts.items()
    )
    table = f'<table style="{TABLE}"><tbody>{rows}</tbody></table>'
    return f"<div><code>{escape(name)}</code>{table}</div>"

"""What notebooks show of hits and corpora: short HTML, everything in it escaped.

Colours are those of the notebook, light or dark; only the mark of a hit has one of its own, which
lets the ground through.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slice_os.results import Hit, Hits
    from slice_os.stores.base import StoreInfo

SHOWN_HITS = 20
AROUND = 90

_MARK = "background:rgba(46,160,110,.3);color:inherit;border-radius:2px;padding:0 1px"
_SOFT = "opacity:.7"
_NUMBER = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
_TABLE = "color:inherit"
_TEXT = "text-align:left;overflow-wrap:anywhere"


def hit_html(hit: Hit) -> str:
    """A hit in its context, with its place and its scores."""
    about = [f"cosine {hit.cosine:.2f}"]
    if hit.probability is not None:
        about.append(f"probability {hit.probability:.2f}")
    about += [*hit.reasons, f"{hit.doc_id}:{hit.start}-{hit.end}", f"“{hit.phrase}”"]
    facts = " · ".join(f"<bdi>{escape(one)}</bdi>" for one in about)
    return f'<div>{_in_context(hit)}<br><small style="{_SOFT}">{facts}</small></div>'


def hits_html(hits: Hits) -> str:
    """A table of the first hits."""
    several = len({hit.phrase for hit in hits}) > 1
    likely = any(hit.probability is not None for hit in hits)
    heads = ["cosine", *(["prob."] if likely else []), *(["phrase"] if several else [])]
    head = "".join(f'<th scope="col" style="{_NUMBER}">{name}</th>' for name in heads)
    head += "".join(f'<th scope="col" style="{_TEXT}">{name}</th>' for name in ("hit", "document"))
    rows = "".join(_row(hit, likely, several) for hit in hits[:SHOWN_HITS])
    more = len(hits) - SHOWN_HITS
    rest = f'<p style="{_SOFT}">and {more:,} more</p>' if more > 0 else ""
    table = (
        f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        if hits
        else ""
    )
    return f'<div><p style="{_SOFT}">{_count(hits)}</p>{table}{rest}</div>'


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
        f'<tr><th scope="row" style="{_TEXT}">{label}</th>'
        f'<td style="{_NUMBER}">{escape(value)}</td></tr>'
        for label, value in facts.items()
    )
    table = f'<table style="{_TABLE}"><tbody>{rows}</tbody></table>'
    return f"<div><code>{escape(name)}</code>{table}</div>"


def _count(hits: Hits) -> str:
    found = f"{len(hits):,} hit{'' if len(hits) == 1 else 's'}"
    cuts = {"cosine": hits.threshold, "probability": hits.min_probability}
    told = [f"{name} from {cut:.2f}" for name, cut in cuts.items() if cut is not None]
    return ", ".join([found, *told])


def _row(hit: Hit, likely: bool, several: bool) -> str:
    numbers = [f"{hit.cosine:.2f}"]
    if likely:
        numbers.append("" if hit.probability is None else f"{hit.probability:.2f}")
    cells = [f'<td style="{_NUMBER}">{number}</td>' for number in numbers]
    texts = [*([_plain(hit.phrase)] if several else []), _in_context(hit), _plain(hit.doc_id)]
    cells += [f'<td style="{_TEXT}">{text}</td>' for text in texts]
    return f"<tr>{''.join(cells)}</tr>"


def _in_context(hit: Hit) -> str:
    """The span, marked, with a little of its passage on both sides."""
    passage, start = hit.context.text, hit.start - hit.context.start
    end = start + len(hit.text)
    before = _ends(passage[:start].split(), last=True)
    after = _ends(passage[end:].split(), last=False)
    gap = " " if passage[:start][-1:].isspace() else ""
    then = " " if passage[end : end + 1].isspace() else ""
    span = " ".join(hit.text.split())
    return (
        f'<bdi>{escape(before)}{gap}<mark style="{_MARK}">{escape(span)}</mark>'
        f"{then}{escape(after)}</bdi>"
    )


def _ends(words: Sequence[str], last: bool) -> str:
    """The last or the first words of a text, as many as fit."""
    kept: list[str] = []
    size = 0
    for word in reversed(words) if last else words:
        size += len(word) + 1
        if size > AROUND:
            kept.append("…")
            break
        kept.append(word)
    return " ".join(reversed(kept) if last else kept)


def _plain(text: str) -> str:
    return f"<bdi>{escape(text)}</bdi>"

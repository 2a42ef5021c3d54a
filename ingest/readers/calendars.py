"""The words of a calendar: what an invitation says, where it is, and who is invited."""

from __future__ import annotations

import re

_FOLDED = re.compile(r"\r?\n[ \t]")
_PROPERTY = re.compile(r"([A-Za-z-]{1,60})((?:;(?:\"[^\"\n]*\"|[^\":\n])*)?):([^\n]*)")
_NAME = re.compile(r";CN=(?:\"([^\"]*)\"|([^;:\"]*))", re.I)
_ESCAPED = re.compile(r"\\(.)")
_SAID = ("SUMMARY", "LOCATION", "DESCRIPTION", "COMMENT", "CONTACT", "CATEGORIES", "RESOURCES")
_PEOPLE = ("ORGANIZER", "ATTENDEE")


def calendar_text(calendar: str) -> str:
    """The words of a calendar in iCalendar's form (RFC 5545), a line for each thing said.

    Text in another form is returned as it is.
    """
    said: dict[str, None] = {}
    for line in _FOLDED.sub("", calendar).splitlines():
        found = _PROPERTY.fullmatch(line)
        if found is None:
            continue
        name = found[1].upper()
        if name in _SAID:
            said[_ESCAPED.sub(_unescaped, found[3]).strip()] = None
        elif name in _PEOPLE and (person := _NAME.search(found[2])):
            said[(person[1] or person[2] or "").strip()] = None
    return "\n".join(filter(None, said)) if "BEGIN:V" in calendar.upper() else calendar


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] in "nN" else found[1]

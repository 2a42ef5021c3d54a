"""Conversations as chats and help desks export them: a table of where their messages are."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from slice_os.ingest.readers.paths import value_at
from slice_os.ingest.readers.services import shown_in
from slice_os.ingest.readers.turns import TURN_LISTS, Json, is_message

# Of ChatGPT, Claude, ShareGPT and Freshdesk, Intercom, Zendesk and GitHub, LiveChat, Teams.
_LISTS = tuple(
    "mapping chat_messages conversations conversation_parts.conversation_parts comments history "  # noqa: SIM905
    "thread.events value".split()
)
# Where files have many conversations.
_MANY = "conversations", "chats.list", "left_chats.list", "chats", "tickets"
# What a ticket or an issue begins with, by whom, and when; its list may have that again.
_FIRST = "body", "description_text", "description"
_OF_FIRST = "author", "user", "requester", "requester_id", "created_at"


def with_messages(record: Json) -> Json:
    """A record whose conversation is in ``messages``, if it is one of a known form.

    Other branches of a tree are beside it.
    """
    found, nodes, source = {**record}, record.get("mapping"), record.get("source")
    if isinstance(nodes, Mapping):
        found |= _branch(nodes, record.get("current_node") or next(reversed(nodes), None))
    known = ((path, one) for path in _LISTS if _is_chat(one := value_at(found, path)))
    alone = "source" if is_message(source) else "", list[Any]()
    path, messages = max(known, key=lambda one: len(one[1]), default=alone)
    begun = {**record, **source} if isinstance(source, Mapping) else record
    by = {one: value_at(begun, one) for one in _OF_FIRST}
    name = next((one for one in _FIRST if isinstance(begun.get(one), str) and any(by.values())), "")
    first = begun.get(name) or ""
    again = [shown_in(value_at(one, "body")) for one in (*messages[:1], *messages[-1:])]
    if path and first.strip() and (shown_in(first) or first) not in again:
        messages = [{"body": first, **by}, *messages]
    if not messages:
        return record
    used = path.partition(".")[0], name, name.removesuffix("_text")
    return {one: found[one] for one in found if one not in used} | {"messages": messages}


def conversations_in(record: Json) -> tuple[list[Any], Json]:
    """The items in a file of many conversations, and what is beside; none if it is no such file."""
    lists = (one for path in _MANY if isinstance(one := value_at(record, path), list))
    found = list(chain.from_iterable(lists))
    known = (with_messages(one) for one in found if isinstance(one, Mapping))
    if not any({*TURN_LISTS} & {*one} for one in known):
        return [], {}
    roots = [path.partition(".")[0] for path in _MANY]
    return found, {name: one for name, one in record.items() if name not in roots}


def _is_chat(listed: Any) -> bool:
    return isinstance(listed, list) and (not listed or any(map(is_message, listed)))


def _branch(nodes: Json, last: Any) -> Json:
    """The messages of a tree from the first to the last one, and its other nodes."""
    others, branch = dict(nodes), list[Any]()
    while isinstance(node := others.pop(str(last), None), Mapping):
        branch += [one for one in [node.get("message")] if one is not None]
        last = node.get("parent")
    return {"mapping": branch[::-1], "other branches": [*others.values()]}

"""Topics: files of phrases, counter-phrases and examples, and what is done with them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slice_os.topics.files import read_topic, read_topics
    from slice_os.topics.match import Match
    from slice_os.topics.run import TopicTagger, mine_topics, scan_topics
    from slice_os.topics.topic import Learned, Topic
    from slice_os.topics.utterances.tagger import UtteranceTagger, UtteranceTopic

_HOMES = {
    # They stand above topics; people import all that is done with topics from here.
    "combinations.matching": ("match_topics",),
    "topics.files": ("read_topic", "read_topics"),
    "topics.match": ("Match",),
    "topics.run": ("TopicTagger", "mine_topics", "scan_topics"),
    "topics.topic": ("Learned", "Topic"),
    "topics.utterances.tagger": ("UtteranceTagger", "UtteranceTopic"),
}

__all__ = [
    "Learned",
    "Match",
    "Topic",
    "TopicTagger",
    "UtteranceTagger",
    "UtteranceTopic",
    "match_topics",
    "mine_topics",
    "read_topic",
    "read_topics",
    "scan_topics",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; a record alone needs none of the others."""
    for home, names in _HOMES.items():
        if name in names:
            module = importlib.import_module(f"slice_os.{home}")
            return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module 'slice_os.topics' has no attribute {name!r}")

"""Topics: files of phrases, counter-phrases and examples, and what is done with them."""

from slice_os.topics.files import read_topic, read_topics
from slice_os.topics.run import mine_topics
from slice_os.topics.tagging import TopicTagger, scan_topics
from slice_os.topics.topic import Learned, Topic

__all__ = [
    "Learned",
    "Topic",
    "TopicTagger",
    "mine_topics",
    "read_topic",
    "read_topics",
    "scan_topics",
]

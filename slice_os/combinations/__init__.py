"""Combined topics: the documents that they describe, and the checks of a set of topics."""

from slice_os.combinations.matching import match_topics

__all__ = ["match_topics"]

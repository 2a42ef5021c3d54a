"""Answers that count the hits of topics."""

from __future__ import annotations

from pydantic import BaseModel


class CountAnswer(BaseModel):
    """How often a topic occurs.

    Attributes:
        key: the day, the document or the value of the field; ``-`` without one.
        hits: number of hits.
        documents: number of documents that have one.
    """

    key: str
    hits: int
    documents: int


class CountsAnswer(BaseModel):
    """How often a topic occurs, in all and apart.

    Attributes:
        topic: its name.
        total: number of hits.
        documents: number of documents that have one.
        by: what they are counted by.
        counts: days in order, otherwise by falling number of hits.
    """

    topic: str
    total: int
    documents: int
    by: str
    counts: list[CountAnswer]


class AllCountsAnswer(BaseModel):
    """How often every topic occurs.

    Attributes:
        topics: by name; each of them, also without a hit.
    """

    topics: list[CountsAnswer]

"""Names and limits that the command line offers; apart from their code, which loads numpy."""

from __future__ import annotations

ENGINES = ("onnxruntime", "openvino")
FUSION_NAMES = ("convex", "rrf", "cosine")
SERVER = "server"
"""The fusion that OpenSearch computes itself, in a hybrid query."""

NUM_CANDIDATES = 400
"""Passages to score by default, by vector and by BM25 each."""
MOST_CANDIDATES = 10_000
"""Most passages that a search may score, by vector and by BM25 each."""

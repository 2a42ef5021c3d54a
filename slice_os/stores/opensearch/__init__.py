"""The OpenSearch store: one document a passage, spans as nested k-NN vectors, BM25 beside."""

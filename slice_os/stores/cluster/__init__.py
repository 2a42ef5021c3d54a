"""The OpenSearch store: a document per passage, spans as nested k-NN vectors, and BM25."""

"""The store on a server: a document per passage, spans as nested vectors, and BM25."""

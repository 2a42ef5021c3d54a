"""Phrase-in-Context: phrase similarity, phrase retrieval and sense disambiguation."""

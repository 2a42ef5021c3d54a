"""From text to vectors: the model folder, its engine, and one vector a word piece."""

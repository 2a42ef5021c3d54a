"""From text to vectors: the model folder, its engine, and one vector per word piece."""

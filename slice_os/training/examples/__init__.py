"""Training data: formats, decontamination, phrases placed in real text, hard negatives."""

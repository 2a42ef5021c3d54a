"""Labels: what people say of hits, in files that programs and other tools write, too."""

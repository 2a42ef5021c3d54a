"""The cosines of every span of a passage, and the choice among them."""

"""Hits in the formats of other tools, which hold whole documents or point into them."""

"""STS-B-Context: how well the best span of a passage tells how similar it is to a phrase."""

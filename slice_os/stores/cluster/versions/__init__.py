"""The versions of an index: creation, planning, reindexing."""

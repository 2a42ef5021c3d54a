"""Contents of an index: settings, mapping, records."""

"""What an index holds: settings, mapping, records."""

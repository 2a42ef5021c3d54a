"""From a query and a store to hits: search, mine, scan."""

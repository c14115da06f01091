"""Pure functions over columns: summary, slices, patterns, audit. Knows the store."""

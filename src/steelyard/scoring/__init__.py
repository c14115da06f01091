"""Pure functions that score an answer against a case. Knows the suite room only."""

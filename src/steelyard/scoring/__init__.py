"""Pure functions that weigh an answer against a case. Knows the suite room only."""

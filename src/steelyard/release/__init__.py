"""Gates and verdicts. Knows analysis."""

"""The tarot suite: what a reading must hold, found by rules, and how it is judged. Uses only the public API."""

"""The truth of a suite: edits with their reasons, suggestions from runs and people, and what is wrong with cases."""

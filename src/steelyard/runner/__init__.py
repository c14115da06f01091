"""Whole actions from beginning to end (run, rescore, attribution)."""

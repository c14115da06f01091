"""Tests the test: scores probes instead of answers. Knows suite, scoring, store, analysis and release."""

"""Tests of a suite itself, with probes instead of answers."""

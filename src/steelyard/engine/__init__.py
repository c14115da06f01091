"""Runs a suite: concurrency, retries, limits, resume, health. Knows suite, targets, scoring, answer and store."""

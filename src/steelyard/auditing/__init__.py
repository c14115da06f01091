"""Tests of a suite itself, with probes instead of answers.

Imports every room but `report`, `alerts`, `runner` and `cli`.
"""

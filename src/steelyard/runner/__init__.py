"""Whole actions from beginning to end (run, rescore, A/B, attribution, import).

Imports every room but `alerts`, `auditing` and `cli`.
"""

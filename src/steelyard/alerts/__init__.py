"""Alerts after a run (rules, what they detect, notices, channels).

Imports `suite`, `store`, `metrics`, `stats`, `analysis`, `decide` and `report`.
"""

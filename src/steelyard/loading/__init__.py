"""Loads a suite: from files to scorers, target, judge, gates, metrics and alerts, checked against each other.

Imports `suite`, `store`, `stats` and `metrics`.
"""

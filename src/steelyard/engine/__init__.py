"""Calls the target for every planned sample and scores it (limits, retries, resuming, health).

Imports `suite`, `targets`, `scoring`, `judging` and `store`.
"""

"""Spreads the calls and the scoring of a run over many processes and machines (Ray).

Imports `suite`, `targets`, `scoring`, `judging` and `engine`.
"""

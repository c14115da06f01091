"""What the samples of a run show (summary, findings, repeats, latency, power, explanation).

Imports `suite`, `store`, `metrics`, `stats` and `scoring`.
"""

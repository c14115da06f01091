"""What a run or a pair of runs comes to (gates, verdicts, baselines, history).

Imports `suite`, `store`, `metrics`, `stats` and `analysis`.
"""

"""What a run or a pair of runs comes to (gates, verdicts, baselines, history, experiments).

Imports `suite`, `store`, `metrics`, `stats` and `analysis`.
"""

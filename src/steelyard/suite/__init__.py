"""What a suite is (cases, files, models, judge, truth, signature).

Imports `metrics` and `alerts`, for what a suite file may name.
"""

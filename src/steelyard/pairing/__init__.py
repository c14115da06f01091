"""Two runs paired case by case: which samples are comparable, what differs in how the runs were made, and how far each
figure moved. Gates relative to a baseline, alerts, experiments and `comparing` are based on it.

Imports `suite`, `store`, `metrics`, `stats`, `loading` and `analysis`.
"""

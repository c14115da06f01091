"""Every metric, written once: what it is, which way is better, and what each sample, cell, vote or claim brings.

Summaries, slices, gates, comparisons, explanations and the reference page are derived from the registry, and
`expressions` reads what compares a metric with a threshold. Imports `suite`, `store` and `stats`.
"""

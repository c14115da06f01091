"""Reports as documents of blocks, one module a feature.

Imports `suite`, `store`, `metrics`, `stats`, `scoring`, `analysis` and `decide`.
"""

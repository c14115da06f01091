"""Reports as documents of blocks, and what makes text, Markdown, HTML and JSON of them.

Imports `suite`, `store`, `metrics`, `stats`, `scoring`, `analysis` and `decide`.
"""

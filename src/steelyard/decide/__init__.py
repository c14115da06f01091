"""What a run comes to: gates, also relative to a baseline, criteria, the verdict, and what is disclosed with it.

Imports `suite`, `store`, `metrics`, `stats`, `loading`, `analysis` and `pairing`.
"""

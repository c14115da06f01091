"""What the judgements of a run show of its judge: figures, votes, agreement with labels, health.

Imports what `analysis` may.
"""

"""What the judgements of a run show of its judge: its votes as columns, its metrics, what is wrong with it, and labels.

Imports what `analysis` may. The metrics are in `metrics`, one file or line each; a run without a judge loads none.
"""

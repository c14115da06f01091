"""People: their labels, who gives which next, how far they agree, and what their labels make of a run's figures; and
truth that stays true: edits with their reasons, suggestions from runs, what is wrong with the cases.
"""

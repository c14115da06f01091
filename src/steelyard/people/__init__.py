"""Truth that stays true: edits of the truth with their reasons, suggestions from runs, what is wrong with the cases.

Imports the data rooms, `scoring`, `engine`, `analysis`, `decide` and `audit`.
"""

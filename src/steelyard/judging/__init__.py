"""Judging a text with a rubric (prompt, call, parsing, evidence, rules, panel).

Imports `suite`, `targets` and `scoring`.
"""

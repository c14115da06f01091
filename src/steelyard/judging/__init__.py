"""Judging a text with a rubric: prompts, the fence, reading answers, evidence, rules and panels.

Imports suite, targets and answer.
"""

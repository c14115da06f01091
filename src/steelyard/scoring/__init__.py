"""Functions that extract an answer and score it against its case, without a call or a file.

Imports `suite` and `stats`.
"""

"""Suites as tests of pytest: what is collected, and the one run that all tests of a suite stand on.

May import everything but `cli` and `web`; `plugin` imports nothing of Steelyard before a suite is collected.
"""

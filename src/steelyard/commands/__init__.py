"""The commands that no feature owns (run, rescore, report, show, runs, ci, init, power, schema, suites, store).

May import every package.
"""

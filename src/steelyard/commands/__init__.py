"""The commands that no feature owns: run, rescore, report, show, runs, ci, init, power, schema, suites, store and
completion.

May import every package.
"""

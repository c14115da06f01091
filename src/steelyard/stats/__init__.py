"""Pure statistics: intervals, groups, paired tests, sequential tests, power, agreement, change points.

Nothing here knows of samples, runs or suites; it imports nothing of steelyard but its own modules.
"""

"""Statistics as pure functions (intervals, groups, paired and sequential tests, power, agreement, change points).

Imports nothing of steelyard.
"""

"""Two runs compared: the operation and its command. How a difference is computed and shown is in `analysis/compare`
and `report/compare`, since gates, experiments and the web need it too.
"""

"""A suite's figures run by run, where their level changed, and its baselines: computation, report, charts, commands."""

"""Alerts in words, and the channels that carry them. Knows release and report."""

"""Alerts after a run: the rules of a suite or project, what they find, and the channels that are told."""

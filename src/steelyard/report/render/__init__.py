"""Renderers, each of which lays out blocks in one form and knows nothing of what they are about.

Imports what `report` may.
"""

"""The scorer of unordered items: boxes, layout, similarity, one-to-one matching and groups.

Imports what `scoring` may.
"""

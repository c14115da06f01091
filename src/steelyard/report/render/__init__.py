"""Renderers: each lays out the blocks of a document in one form and knows nothing of what they are about."""

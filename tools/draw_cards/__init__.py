"""Draws the photos of the cards suite: cards, tables and light, with Pillow, from a seed."""

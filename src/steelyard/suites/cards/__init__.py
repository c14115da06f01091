"""The cards suite: photos of printed cards with their truth, and how they were drawn. Uses only the public API."""

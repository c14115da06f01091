"""What holds for every test."""

from hypothesis import settings

# A deadline is a timed assertion: on a busy machine, or where a first call imports scipy, it fails for no reason.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

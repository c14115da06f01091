"""The gates of a stored run, checked now, also against another run: the operation and the command gate."""

"""The web app on a store: pages of report blocks with links, the label desk, a JSON API, and a static copy of runs.

Needs the extra `web`.
"""

"""Who runs a command, as logs name them."""

from __future__ import annotations

import os
from collections.abc import Mapping


def current_user(env: Mapping[str, str] | None = None) -> str:
    """Who is at work, as the log names them: `ada@workshop`; in a CI, who set it off."""
    env = os.environ if env is None else env
    actor = env.get("GITHUB_ACTOR") or env.get("GITLAB_USER_LOGIN")
    if actor:
        return actor
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "somebody"
    return f"{user}@{socket.gethostname()}"

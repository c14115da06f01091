"""A suite with a system of two arms, for tests of whole A/Bs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parts.loopback import Loopback, Seen, json_answer
from parts.small_suite import http_target, write_suite


def good(seen: Seen) -> Any:
    """The right word."""
    return json_answer({"answer": {"word": f"word {seen.json['number']}"}})


def bad(seen: Seen) -> Any:
    """Another word than the right one, and another for each case."""
    return json_answer({"answer": {"word": f"no {seen.json['number']}"}})


def serve(server: Loopback, a: Any = bad, b: Any = good) -> dict[str, list[str]]:
    """Answer at /a and /b; gives what `--a` and `--b` have to say to ask there."""
    server.on("/a", a)
    server.on("/b", b)
    return {arm: [f"--{arm}", f"url={server.base_url}/{arm}"] for arm in ("a", "b")}


def write_arms(folder: Path, server: Loopback, n: int, **more: Any) -> Path:
    """The suite file; its own target is arm A."""
    return write_suite(folder, n=n, target=http_target(server.base_url), gates=[], **more)

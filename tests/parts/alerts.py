"""Notices, messages and channels to send, and a place to send them from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.alerts.channels import ChannelContext, DeliveryTries
from steelyard.alerts.evidence import AlertLevel, AlertReading, State
from steelyard.alerts.notices import Message, Notice, NoticeKind

QUICK = DeliveryTries(tries=3, first_wait=0.01, timeout=5.0, in_all=20.0)
"""Waits that a test can afford; what hangs gets a shorter one of its own."""


def reading(**changes: Any) -> AlertReading:
    values: dict[str, Any] = {
        "rule": "regression of pass_rate against release",
        "subject": "pass_rate",
        "state": State.THERE,
        "what": "pass_rate is worse than in release",
        "how_much": "78.0 % now, 90.0 % before: -12.0 points (n 50 now, 50 before)",
        "significance": "95 % interval -20.1 to -3.9 points, p 0.004 (exact McNemar, 50 cases)",
        "look": ("steelyard", "compare", "@release", "demo-2"),
        "level": AlertLevel.ERROR,
        "size": 0.12,
    }
    return AlertReading(**(values | changes))


def notice(kind: NoticeKind = NoticeKind.RAISED, **changes: Any) -> Notice:
    values: dict[str, Any] = {
        "suite": "demo",
        "run_id": "demo-2",
        "reading": reading(),
        "since_run": "demo-2",
        "since_at": 1_768_705_920.0,  # 2026-01-18 03:12 UTC, by `date -u -d 2026-01-18T03:12Z +%s`
        "alert": 7,
    }
    return Notice(kind, **(values | changes))


def message(*notices: Notice) -> Message:
    return Message("demo", "demo-2", notices or (notice(),))


def place(folder: Path | str = ".", **env: str) -> ChannelContext:
    said: list[str] = []
    return ChannelContext(env, Path(folder), said.append)


def told_by(result: ChannelContext) -> list[str]:
    """The lines that a channel told people."""
    return result.add_problem.__self__  # type: ignore[attr-defined,no-any-return]

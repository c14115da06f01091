"""What is kept and told of how a run went, beside its samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.engine.run import Ending
from steelyard.suite.models import Limits, SuiteModel


def after_the_run(load: dict[str, Any], ending: Ending) -> dict[str, Any]:
    """What is kept of how it went beside the samples: what warm-up and load came to, and that the system was gone."""
    told = {"warm_up_failed": ending.warm_up_failed, "held_up": load.get("held_up", 0) + ending.held_up}
    lag = {} if ending.loop_lag is None else {"loop_lag": round(ending.loop_lag, 6)}
    scoring = {"scoring": ending.scoring} if ending.scoring else {}
    kept: dict[str, Any] = {"load": load | {name: n for name, n in told.items() if n} | lag | scoring}
    return kept if ending.broken is None else kept | {"broken": ending.broken}


def worth_noting(ending: Ending, suite: SuiteModel, limits: Limits) -> Iterator[str]:
    """What the person who ran it may want to change."""
    if ending.held_up:
        yield (
            f"{ending.held_up:,} calls were due while {limits.concurrency:,} were under way, and had to wait: their"
            " latency counts from when they were due; raise --concurrency to send them in time"
        )
    if suite.answer.format == "text" and ending.health.all_objects:
        yield (
            "every answer is a JSON object, but the suite reads answers as plain text: if scorers are to look inside,"
            " add answer: {format: json}, then rescore"
        )

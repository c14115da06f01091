"""Which alerts a run raises, keeps and closes. Pure: readings and open alerts in, changes out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from steelyard.release.alert_causes import Reading, State
from steelyard.store.alerts import AlertRecord

_LEFT = 0.5
"""The share of a change that may be left when its alert is closed: a figure on the edge must not ring every night."""


@dataclass(frozen=True, slots=True)
class Closing:
    """An open alert whose cause is gone, or is watched no more."""

    alert: AlertRecord
    reading: Reading | None
    """What the run shows now; None when nothing looks at it any more."""
    recovered: bool
    """True when the cause was looked for and is not there."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a run changes about the alerts of its suite."""

    raised: tuple[Reading, ...] = ()
    still: tuple[tuple[AlertRecord, Reading], ...] = ()
    """Open before, and there still: nobody is told again."""
    closed: tuple[Closing, ...] = ()
    unknown: tuple[Reading, ...] = ()
    """What nobody can tell, and why."""


def changes_of(readings: Iterable[Reading], open_alerts: Sequence[AlertRecord], rules: Collection[str]) -> Changes:
    """What the readings of a run come to; `rules` are the labels of all rules that are declared now."""
    by_cause = {alert.cause: alert for alert in open_alerts}
    raised, still, closed, unknown = [], [], [], []
    seen: set[str] = set()
    for reading in readings:
        if reading.cause in seen:
            continue
        seen.add(reading.cause)
        alert = by_cause.get(reading.cause)
        state = _settled(reading, alert)
        if state is State.UNKNOWN:
            unknown.append(reading)
        elif state is State.THERE and alert is None:
            raised.append(reading)
        elif state is State.THERE and alert is not None:
            still.append((alert, replace(reading, state=State.THERE)))
        elif alert is not None:
            closed.append(Closing(alert, reading, recovered=state is State.GONE))
    closed += [
        Closing(alert, None, recovered=False)
        for alert in open_alerts
        if alert.cause not in seen and alert.content.get("rule") not in rules
    ]
    return Changes(tuple(raised), tuple(still), tuple(closed), tuple(unknown))


def _settled(reading: Reading, alert: AlertRecord | None) -> State:
    """The state; a change that has raised an alert is gone only when less than half of it is left."""
    if alert is None or reading.state is not State.GONE or reading.size is None:
        return reading.state
    then = alert.content.get("size")
    return State.THERE if then and reading.size > _LEFT * then else State.GONE

"""What each channel is told after a run: what is new, and what it did not hear before."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from steelyard.alerting.channel import Patience
from steelyard.alerting.notices import Kind, Message, Notice, loudest_first
from steelyard.records import RunHeader
from steelyard.release.alert_causes import reading_from
from steelyard.store.alerts import FAILED, AlertRecord
from steelyard.store.base import Store
from steelyard.suite.alert_channels import Channel

RAISED, CLOSED = "raised", "closed"
_UNDER_WAY = 2 * Patience().in_all
"""Seconds in which what nobody has noted anything of may be on its way, sent by another process."""


def messages_for(
    store: Store,
    header: RunHeader,
    notices: Sequence[Notice],
    open_alerts: Sequence[AlertRecord],
    channels: Sequence[Channel],
) -> list[tuple[Channel, Message]]:
    """A message for every channel that has something to be told, what it missed before included."""
    over = store.unheard_endings(header.suite_name)
    told = _Told(store, [*open_alerts, *over])
    new = {each.alert for each in notices}
    found = []
    for channel in channels:
        label = channel.label
        # Nobody is told of the end of what they never heard of.
        fresh = [each for each in notices if not each.closed or told.heard(each.alert, label)]
        missed = [notice_of(each, header.id) for each in open_alerts if told.missed(each, RAISED, label)]
        missed += [
            _ending(each) for each in over if told.heard(each.number, label) and told.missed(each, CLOSED, label)
        ]
        fresh += [each for each in missed if each.alert not in new]
        if fresh:
            found.append((channel, Message(header.suite_name, header.id, tuple(loudest_first(fresh)))))
    return found


class _Told:
    """What channels were told of some alerts."""

    def __init__(self, store: Store, alerts: Sequence[AlertRecord]) -> None:
        numbers = [each.number for each in alerts]
        self._states = {(each.alert, each.notice, each.channel): each.state for each in store.deliveries(numbers)}
        self._now = time.time()

    def heard(self, alert: int | None, channel: str) -> bool:
        """Whether a channel was told that an alert was raised."""
        return self._states.get((alert or 0, RAISED, channel), FAILED) != FAILED

    def missed(self, alert: AlertRecord, notice: str, channel: str) -> bool:
        """Whether a channel has not been told, and nobody is about to."""
        state = self._states.get((alert.number, notice, channel))
        at = alert.opened_at if notice == RAISED else alert.closed_at or 0.0
        return state == FAILED or (state is None and at < self._now - _UNDER_WAY)


def notice_of(alert: AlertRecord, run_id: str) -> Notice:
    """That an alert was raised, as a run finds it in the store."""
    reading = reading_from(alert.content)
    since = (alert.opened_run, alert.opened_run_at)
    return Notice(Kind.RAISED, alert.suite_name, run_id, reading, *since, alert=alert.number)


def _ending(alert: AlertRecord) -> Notice:
    """That an alert was closed, as the store keeps it."""
    ending = alert.ending or {}
    now = ending.get("now")
    kind = Kind(ending.get("kind", Kind.RECOVERED))
    notice = notice_of(alert, alert.closed_run or alert.seen_run)
    return replace(notice, kind=kind, now=None if now is None else reading_from(now))

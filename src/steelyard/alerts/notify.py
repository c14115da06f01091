"""From a run that has ended to messages: what its rules find, what is stored, what is sent to each channel."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from steelyard.alerts.channels import ChannelContext, Delivered, DeliveryTries, deliver, secret_redactor
from steelyard.alerts.evaluate import AlertChanges, Closing, changes_of, readings_of
from steelyard.alerts.evidence import AlertEvidence, AlertReading, reading_from
from steelyard.alerts.notices import Message, Notice, NoticeKind, loudest_first, redacted
from steelyard.frozen import frozen
from steelyard.loading.alerts import AlertSettings, Channel
from steelyard.records import RunHeader
from steelyard.redact import SecretRedactor
from steelyard.store.alert_log import FAILED, AlertRecord, Delivery
from steelyard.store.base import Store
from steelyard.store.headers import is_partial

RAISED, CLOSED = "raised", "closed"
_UNDER_WAY = 2 * DeliveryTries().in_all
"""Seconds in which a notice without a recorded delivery may still be on its way from another process."""


def messages_for(
    store: Store,
    header: RunHeader,
    notices: Sequence[Notice],
    open_alerts: Sequence[AlertRecord],
    channels: Sequence[Channel],
) -> list[tuple[Channel, Message]]:
    """A message for every channel with a notice to send, those it missed before included."""
    over = store.unheard_endings(header.suite_name)
    message = _Message(store, [*open_alerts, *over])
    new = {notice.alert for notice in notices}
    results = []
    for channel in channels:
        label = channel.label
        # Nobody is told of the end of what they never heard of.
        fresh = [notice for notice in notices if not notice.closed or message.heard(notice.alert, label)]
        missed = [
            notice_of(open_alert, header.id) for open_alert in open_alerts if message.missed(open_alert, RAISED, label)
        ]
        missed += [
            _ending(item) for item in over if message.heard(item.number, label) and message.missed(item, CLOSED, label)
        ]
        fresh += [item for item in missed if item.alert not in new]
        if fresh:
            results.append((channel, Message(header.suite_name, header.id, tuple(loudest_first(fresh)))))
    return results


class _Message:
    """The deliveries of some alerts."""

    def __init__(self, store: Store, alerts: Sequence[AlertRecord]) -> None:
        numbers = [alert.number for alert in alerts]
        self._states = {
            (delivery.alert, delivery.notice, delivery.channel): delivery.state
            for delivery in store.deliveries(numbers)
        }
        self._now = time.time()

    def heard(self, alert: int | None, channel: str) -> bool:
        """Whether the notice that an alert was raised reached a channel."""
        return self._states.get((alert or 0, RAISED, channel), FAILED) != FAILED

    def missed(self, alert: AlertRecord, notice: str, channel: str) -> bool:
        """Whether a notice has not reached a channel, and is not on its way."""
        state = self._states.get((alert.number, notice, channel))
        at = alert.opened_at if notice == RAISED else alert.closed_at or 0.0
        return state == FAILED or (state is None and at < self._now - _UNDER_WAY)


def notice_of(alert: AlertRecord, run_id: str) -> Notice:
    """That an alert was raised, as a run finds it in the store."""
    reading = reading_from(alert.content)
    since = (alert.opened_run, alert.opened_run_at)
    return Notice(NoticeKind.RAISED, alert.suite_name, run_id, reading, *since, alert=alert.number)


def _ending(alert: AlertRecord) -> Notice:
    """That an alert was closed, as the store keeps it."""
    ending = alert.ending or {}
    now = ending.get("now")
    kind = NoticeKind(ending.get("kind", NoticeKind.RECOVERED))
    notice = notice_of(alert, alert.closed_run or alert.seen_run)
    return replace(notice, kind=kind, now=None if now is None else reading_from(now))


@frozen
class AlertCheck:
    """What a run changed about the alerts of its suite, and whether each notice was sent."""

    notices: tuple[Notice, ...]
    still: tuple[AlertRecord, ...]
    """Open before and still there: no second notice was sent."""
    unknown: tuple[AlertReading, ...]
    """What could not be decided, and why."""
    messages: tuple[tuple[Channel, Message], ...]
    """What was sent, or would be."""
    delivered: tuple[Delivered, ...]
    not_kept: str = ""
    """Why nothing was stored or sent; "" when it was."""


def check_run(
    store: Store,
    header: RunHeader,
    settings: AlertSettings,
    place: ChannelContext,
    *,
    dry_run: bool = False,
    retry_policy: DeliveryTries = DeliveryTries(),  # noqa: B008 - frozen
) -> AlertCheck:
    """Hold a run against the rules, keep what it raises and closes, and tell every channel once.

    What a channel did not take before is sent to it again. With `dry_run`, and of a run that may not speak for its
    suite, nothing is kept or sent.
    """
    not_kept = "a dry run" if dry_run else why_not_kept(store, header)
    open_alerts = store.alerts(header.suite_name)
    evidence = AlertEvidence(store, header, settings, open_alerts)
    changes = changes_of(readings_of(evidence), open_alerts, {rule.label for rule in evidence.rules})
    channels = settings.channels or ()
    teller = _Teller(store, header, secret_redactor(channels, place.env), keeps=not not_kept)
    notices = teller.notices(changes)
    messages = messages_for(store, header, notices, open_alerts, channels)
    delivered: list[Delivered] = []
    if not not_kept and messages:
        delivered = deliver(messages, place, retry_policy)
        store.log_deliveries(list(_stored(messages, delivered)))
    return AlertCheck(
        notices=tuple(notices),
        still=tuple(alert for alert, _ in changes.still),
        unknown=changes.unknown,
        messages=tuple(messages),
        delivered=tuple(delivered),
        not_kept=not_kept,
    )


def why_not_kept(store: Store, header: RunHeader) -> str:
    """Why a run may not speak for its suite; "" when it may."""
    if header.ended_at is None:
        return "the run has not ended"
    if is_partial(header):
        return "the run covers only a part of the suite"
    newer = [run for run in store.runs(header.suite_name, 50) if (run.ended_at or 0.0) > header.ended_at]
    whole = [item for item in newer if not is_partial(item)]
    return f"run {whole[0].id} is newer" if whole else ""


class _Teller:
    """Keeps what changes, and puts it into words; two processes that find the same cause tell of it once."""

    def __init__(self, store: Store, header: RunHeader, redact: SecretRedactor, *, keeps: bool) -> None:
        self._store, self._header, self._redact_secrets, self._keeps = store, header, redact, keeps

    def notices(self, changes: AlertChanges) -> list[Notice]:
        results = [self._raised(redacted(item, self._redact_secrets)) for item in changes.raised]
        results += [self._closed(item) for item in changes.closed]
        if self._keeps and changes.still:
            self._store.see_alerts([alert.number for alert, _ in changes.still], self._header.id)
        return loudest_first([item for item in results if item is not None])

    def _raised(self, reading: AlertReading) -> Notice | None:
        header = self._header
        notice = Notice(NoticeKind.RAISED, header.suite_name, header.id, reading, header.id, header.created_at)
        if not self._keeps:
            return notice
        retained = self._store.open_alert(header.suite_name, reading.cause, header.id, reading.as_data())
        return None if retained is None else replace(notice, alert=retained.number)

    def _closed(self, closing: Closing) -> Notice | None:
        header, alert = self._header, closing.alert
        now = None if closing.reading is None else redacted(closing.reading, self._redact_secrets)
        kind = NoticeKind.RECOVERED if closing.recovered else NoticeKind.WITHDRAWN
        ending = {"kind": kind.value, "now": None if now is None else now.as_data()}
        if self._keeps and not self._store.close_alert(alert.number, header.id, ending):
            return None
        return replace(notice_of(alert, header.id), kind=kind, now=now)


def _stored(messages: Sequence[tuple[Channel, Message]], delivered: Sequence[Delivered]) -> Sequence[Delivery]:
    now = time.time()
    return [
        Delivery(
            alert=notice.alert,
            notice=CLOSED if notice.closed else RAISED,
            channel=outcome.channel,
            state=outcome.state,
            tries=outcome.tries,
            sent_at=now,
            detail=outcome.detail,
        )
        for (_, message), outcome in zip(messages, delivered, strict=True)
        for notice in message.notices
        if notice.alert is not None
    ]

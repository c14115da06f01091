"""From a run that has ended to messages: what its rules find, what the store keeps of it, and what is sent."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from steelyard.alerting.channel import Patience, Place
from steelyard.alerting.deliver import Delivered, deliver, secret_redactor
from steelyard.alerting.messages import CLOSED, RAISED, messages_for, notice_of
from steelyard.alerting.notices import Kind, Message, Notice, loudest_first, redacted
from steelyard.analysis.sound_runs import is_partial
from steelyard.records import RunHeader
from steelyard.redact import SecretRedactor
from steelyard.release.alert_causes import Reading
from steelyard.release.alert_evidence import Evidence
from steelyard.release.alert_readings import readings_of
from steelyard.release.alerts import Changes, Closing, changes_of
from steelyard.store.alerts import AlertRecord, Delivery
from steelyard.store.base import Store
from steelyard.suite.alert_channels import Channel
from steelyard.suite.alert_settings import AlertSettings


@dataclass(frozen=True, slots=True)
class Checked:
    """What a run changed about the alerts of its suite, and what became of telling people."""

    notices: tuple[Notice, ...]
    still: tuple[AlertRecord, ...]
    """Open before and there still: nobody was told again."""
    unknown: tuple[Reading, ...]
    """What nobody can tell, and why."""
    messages: tuple[tuple[Channel, Message], ...]
    """What was sent, or would be."""
    delivered: tuple[Delivered, ...]
    not_kept: str = ""
    """Why nothing was kept or sent; "" when it was."""


def check_run(
    store: Store,
    header: RunHeader,
    settings: AlertSettings,
    place: Place,
    *,
    dry_run: bool = False,
    patience: Patience = Patience(),  # noqa: B008 - frozen
) -> Checked:
    """Hold a run against the rules, keep what it raises and closes, and tell every channel once.

    What a channel did not take before is sent to it again. With `dry_run`, and of a run that may not speak for its
    suite, nothing is kept or sent.
    """
    not_kept = "a dry run" if dry_run else why_not_kept(store, header)
    open_alerts = store.alerts(header.suite_name)
    evidence = Evidence(store, header, settings, open_alerts)
    changes = changes_of(readings_of(evidence), open_alerts, {rule.label for rule in evidence.rules})
    channels = settings.channels or ()
    teller = _Teller(store, header, secret_redactor(channels, place.env), keeps=not not_kept)
    notices = teller.notices(changes)
    messages = messages_for(store, header, notices, open_alerts, channels)
    delivered: list[Delivered] = []
    if not not_kept and messages:
        delivered = deliver(messages, place, patience)
        store.log_deliveries(list(_kept(messages, delivered)))
    return Checked(
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
        return "the run is of a part of the suite alone"
    newer = [each for each in store.runs(header.suite_name, 50) if (each.ended_at or 0.0) > header.ended_at]
    whole = [each for each in newer if not is_partial(each)]
    return f"run {whole[0].id} is newer" if whole else ""


class _Teller:
    """Keeps what changes, and puts it into words; two processes that find the same cause tell of it once."""

    def __init__(self, store: Store, header: RunHeader, redact: SecretRedactor, *, keeps: bool) -> None:
        self._store, self._header, self._redact_secrets, self._keeps = store, header, redact, keeps

    def notices(self, changes: Changes) -> list[Notice]:
        found = [self._raised(redacted(each, self._redact_secrets)) for each in changes.raised]
        found += [self._closed(each) for each in changes.closed]
        if self._keeps and changes.still:
            self._store.see_alerts([alert.number for alert, _ in changes.still], self._header.id)
        return loudest_first([each for each in found if each is not None])

    def _raised(self, reading: Reading) -> Notice | None:
        header = self._header
        notice = Notice(Kind.RAISED, header.suite_name, header.id, reading, header.id, header.created_at)
        if not self._keeps:
            return notice
        kept = self._store.open_alert(header.suite_name, reading.cause, header.id, reading.as_data())
        return None if kept is None else replace(notice, alert=kept.number)

    def _closed(self, closing: Closing) -> Notice | None:
        header, alert = self._header, closing.alert
        now = None if closing.reading is None else redacted(closing.reading, self._redact_secrets)
        kind = Kind.RECOVERED if closing.recovered else Kind.WITHDRAWN
        ending = {"kind": kind.value, "now": None if now is None else now.as_data()}
        if self._keeps and not self._store.close_alert(alert.number, header.id, ending):
            return None
        return replace(notice_of(alert, header.id), kind=kind, now=now)


def _kept(messages: Sequence[tuple[Channel, Message]], delivered: Sequence[Delivered]) -> Sequence[Delivery]:
    now = time.time()
    return [
        Delivery(
            alert=notice.alert,
            notice=CLOSED if notice.closed else RAISED,
            channel=outcome.channel,
            state=outcome.state,
            tries=outcome.tries,
            told_at=now,
            detail=outcome.detail,
        )
        for (_, message), outcome in zip(messages, delivered, strict=True)
        for notice in message.notices
        if notice.alert is not None
    ]

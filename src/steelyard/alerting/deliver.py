"""Sends messages over all channels side by side: tried again a few times, never longer than a run may be held up."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.alerting.channel import NotHere, Patience, Place, Undelivered
from steelyard.alerting.command import send_to_command
from steelyard.alerting.github import send_to_github
from steelyard.alerting.mail import send_mail
from steelyard.alerting.notices import Message
from steelyard.alerting.webhook import send_webhook
from steelyard.redact import SHORTEST, SecretRedactor
from steelyard.store.alerts import FAILED, SENT, SKIPPED
from steelyard.suite.alert_channels import Channel, Command, Mail, Webhook

_LONGER = 3.0
"""How much longer each wait is than the one before."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of a message on one channel."""

    channel: str
    state: str
    """sent, failed, or skipped where the channel does not exist."""
    tries: int
    detail: str = ""
    """Why it failed, or who was refused; nothing secret is in it."""


def secret_redactor(channels: Sequence[Channel], env: Mapping[str, str]) -> SecretRedactor:
    """Takes the addresses, names and keys of these channels out of what runs say."""
    values = _values(channels, env)
    return SecretRedactor([*values, *(_path_and_query(value) for value in values)])


def _strict_redactor(channels: Sequence[Channel], env: Mapping[str, str]) -> SecretRedactor:
    """Takes them out of what servers say: however short they are, and every part of an address by itself."""
    values = _values(channels, env)
    parts = [part for value in values for part in re.split(r"[/?&=]", _path_and_query(value)) if len(part) >= SHORTEST]
    return SecretRedactor([*values, *map(_path_and_query, values), *parts], shortest=1)


def _values(channels: Sequence[Channel], env: Mapping[str, str]) -> list[str]:
    return [env[name].strip() for channel in channels for name in channel.secrets if name in env]


def _path_and_query(value: str) -> str:
    """What of an address is secret by itself: a server may say it back; "" of what is no address."""
    return value.partition("://")[2].partition("/")[2]


def deliver(
    messages: Sequence[tuple[Channel, Message]],
    place: Place,
    patience: Patience = Patience(),  # noqa: B008 - frozen
) -> list[Delivered]:
    """What became of each message; nothing is ever raised, and it takes no longer than the patience lasts."""
    redact = _strict_redactor([channel for channel, _ in messages], place.env)
    until = time.monotonic() + patience.in_all
    jobs = [_Job(channel, message, place, patience, until - patience.to_end) for channel, message in messages]
    given_up = f"no end after {patience.in_all:g} s"
    try:
        for job in jobs:
            job.start()
        for job in jobs:
            job.join(max(0.0, until - time.monotonic()))
    except KeyboardInterrupt:
        given_up = "interrupted"
    return [job.outcome(given_up, redact) for job in jobs]


class _Job(threading.Thread):
    """One message on its way. A daemon: what hangs in a system call must not keep the process from ending."""

    def __init__(self, channel: Channel, message: Message, place: Place, patience: Patience, until: float) -> None:
        super().__init__(name=f"alert by {channel.kind}", daemon=True)
        self._channel, self._message, self._place = channel, message, place
        self._patience, self._until = patience, until
        self._tries = 0
        self._last = ""
        self._done: tuple[str, str] | None = None

    def run(self) -> None:
        try:
            self._done = self._to_the_end()
        except Exception as error:  # noqa: BLE001 - whatever goes wrong here must not touch the run
            self._done = (FAILED, f"{type(error).__name__}: {error}")

    def outcome(self, given_up: str, redact: SecretRedactor) -> Delivered:
        last = f" (the last try: {self._last})" if self._last else ""
        state, detail = self._done or (FAILED, given_up + last)
        return Delivered(self._channel.label, state, self._tries, redact(detail))

    def _to_the_end(self) -> tuple[str, str]:
        wait = self._patience.first_wait
        for number in range(1, self._patience.tries + 1):
            self._tries = number
            try:
                return SENT, _send(self._channel, self._message, self._place, self._seconds())
            except NotHere:
                return SKIPPED, ""
            except Undelivered as error:
                self._last = str(error)
                pause = max(wait, error.after or 0.0)
                wait *= _LONGER
                if not error.retry or number == self._patience.tries or time.monotonic() + pause > self._until:
                    break
                time.sleep(pause)
        return FAILED, self._last

    def _seconds(self) -> float:
        return max(0.05, min(self._patience.each, self._until - time.monotonic()))


def _send(channel: Channel, message: Message, place: Place, seconds: float) -> str:
    if isinstance(channel, Webhook):
        send_webhook(channel, message, place, seconds)
    elif isinstance(channel, Mail):
        return send_mail(channel, message, place, seconds)
    elif isinstance(channel, Command):
        send_to_command(channel, message, place, seconds)
    else:
        send_to_github(message, place)
    return ""

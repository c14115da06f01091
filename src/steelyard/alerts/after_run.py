"""What a command does about alerts after a run: checks the rules, sends, and reports what came of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.safe_output import workflow_command
from steelyard.frozen import values_of

if TYPE_CHECKING:
    from steelyard.alerts.channels import ChannelContext
    from steelyard.alerts.notify import AlertCheck
    from steelyard.loading.alerts import AlertSettings
    from steelyard.records import RunHeader
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


def note_limits(settings: AlertSettings, suite: SuiteModel) -> None:
    """Say before a run which rules can never fire or are limited, and which variables of channels are not set."""
    from steelyard.loading.alert_reach import reach

    for rule in settings.rules or ():
        limited = reach(rule, settings, suite)
        if limited.never:
            click.echo(f"note: alerts: {rule.label} can never fire: {limited.never}", err=True)
        for why in limited.limits:
            click.echo(f"note: alerts: {rule.label} is limited: {why}", err=True)
    unset = [name for channel in settings.channels or () for name in channel.secrets if not os.environ.get(name)]
    for name in dict.fromkeys(unset):
        click.echo(f"note: alerts need the environment variable {name}, which is not set", err=True)


def alert_after_run(store: Store, header: RunHeader, settings: AlertSettings) -> None:
    """Hold the run against its rules and tell people; what goes wrong is said on standard error, and no more."""
    from steelyard.alerts.notify import check_run

    try:
        checked = check_run(store, header, settings, here())
    except Exception as error:  # noqa: BLE001 - a run that ended well must not fail for its alerts
        from steelyard.report.format import one_line

        message = one_line(f"{type(error).__name__}: {error}", 500)
        click.echo(f"alerts could not be checked ({message}); try: steelyard alerts check {header.id}", err=True)
        return
    report_checked(checked, brief=True)
    if checked.unknown and not checked.not_kept:
        causes = "1 cause" if len(checked.unknown) == 1 else f"{len(checked.unknown):,} causes"
        click.echo(f"alerts: {causes} could not be decided; steelyard alerts check {header.id} says why", err=True)


def here() -> ChannelContext:
    """Where channels work: this process and its folder; lines for people go to standard error."""
    from steelyard.alerts.channels import ChannelContext

    return ChannelContext(dict(os.environ), Path.cwd(), workflow_command)


def report_checked(
    checked: AlertCheck, *, texts: bool = False, brief: bool = False, only_trouble: bool = False, err: bool = True
) -> None:
    """Say what changed, and what could not be delivered.

    `texts` shows the messages themselves; `brief` leaves out what is not known, and `only_trouble` all but trouble.
    """
    if not only_trouble:
        for line in _changes(checked, brief=brief):
            click.echo(line, err=err)
        if texts:
            for channel, message in checked.messages:
                click.echo(f"\nwould be sent by {channel.label}:\n\n{message.subject}\n\n{message.text()}", err=err)
    for item in checked.delivered:
        if item.state == "failed":
            tries = f"{item.tries} {'try' if item.tries == 1 else 'tries'}"
            click.echo(
                f"alerts NOT DELIVERED by {item.channel} after {tries}: {_line(item.detail)}. They are stored, and"
                f" sent again after the next run",
                err=True,
            )
        elif item.detail:
            click.echo(f"alerts by {item.channel}: {_line(item.detail)}", err=True)


def _changes(checked: AlertCheck, *, brief: bool) -> list[str]:
    if brief and checked.not_kept:
        return [f"no alerts: {checked.not_kept}"] if checked.notices else []
    lines = [f"nothing is stored or sent: {checked.not_kept}"] if checked.not_kept else []
    lines += [f"alert {notice.title}" if notice.closed else f"ALERT: {notice.title}" for notice in checked.notices]
    if not brief:
        lines += [
            f"alert still open: {_line(item.content['what'])} (since run {item.opened_run})" for item in checked.still
        ]
        lines += [f"cannot tell: {_line(item.what)}" for item in checked.unknown]
        lines += [] if checked.notices or checked.still else ["no alerts"]
    return lines


def _line(text: str) -> str:
    from steelyard.report.format import one_line

    return one_line(text, 500)


def checked_data(checked: AlertCheck) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "not_kept": checked.not_kept or None,
        "notices": [notice.as_data() for notice in checked.notices],
        "still_open": [{"alert": item.number, "cause": item.cause, "since": item.opened_run} for item in checked.still],
        "cannot_tell": [{"cause": item.cause, "why": item.what} for item in checked.unknown],
        "messages": [{"channel": channel.label, "message": message.as_data()} for channel, message in checked.messages],
        "deliveries": [
            values_of(item, "channel", "state", "tries") | {"detail": item.detail or None} for item in checked.delivered
        ],
    }

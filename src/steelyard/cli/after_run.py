"""Alerts after a run: whatever becomes of them, the run's exit code is its verdict's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.safe_output import workflow_command

if TYPE_CHECKING:
    from steelyard.alerts.channels import Place
    from steelyard.alerts.notify import Checked
    from steelyard.alerts.rules import AlertSettings
    from steelyard.records import RunHeader
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel
    # LOST from steelyard.suite.alert_settings import AlertSettings


def settings_before_run(suite: SuiteModel) -> AlertSettings | None:
    """What is to be told after the run; None when nothing is. Says which variables of its channels are not set."""
    from steelyard.alerts.rules import AlertSettings
    from steelyard.suite.load import project_alerts

    settings = (suite.alerts or AlertSettings()).over(project_alerts(Path.cwd()))
    if not settings.rules:
        return None
    unset = [name for channel in settings.channels or () for name in channel.secrets if not os.environ.get(name)]
    for name in dict.fromkeys(unset):
        click.echo(f"note: alerts need the environment variable {name}, which is not set", err=True)
    return settings


def alert_after_run(store: Store, header: RunHeader, settings: AlertSettings | None) -> None:
    """Hold the run against its rules and tell people; what goes wrong is said on standard error, and no more."""
    if settings is None:
        return
    from steelyard.alerts.notify import check_run

    try:
        checked = check_run(store, header, settings, here())
    except Exception as error:  # noqa: BLE001 - a run that ended well must not fail for its alerts
        from steelyard.report.format import one_line

        told = one_line(f"{type(error).__name__}: {error}", 500)
        click.echo(f"alerts could not be checked ({told}); try: steelyard alerts check {header.id}", err=True)
        return
    tell_checked(checked, brief=True)
    if checked.unknown and not checked.not_kept:
        causes = "1 cause" if len(checked.unknown) == 1 else f"{len(checked.unknown):,} causes"
        click.echo(f"alerts: nobody can tell of {causes}; steelyard alerts check {header.id} says why", err=True)


def here() -> Place:
    """Where channels work: this process and its folder; lines for people go to standard error."""
    from steelyard.alerts.channels import Place

    return Place(dict(os.environ), Path.cwd(), workflow_command)


def tell_checked(
    checked: Checked, *, texts: bool = False, brief: bool = False, only_trouble: bool = False, err: bool = True
) -> None:
    """Say what changed, and what could not be delivered.

    `texts` shows the messages themselves; `brief` leaves out what nobody can tell, and `only_trouble` all but trouble.
    """
    if not only_trouble:
        for line in _changes(checked, brief=brief):
            click.echo(line, err=err)
        if texts:
            for channel, message in checked.messages:
                click.echo(f"\nwould be sent by {channel.label}:\n\n{message.subject}\n\n{message.text()}", err=err)
    for each in checked.delivered:
        if each.state == "failed":
            tries = f"{each.tries} {'try' if each.tries == 1 else 'tries'}"
            click.echo(
                f"alerts NOT DELIVERED by {each.channel} after {tries}: {_line(each.detail)}. They are kept, and sent"
                " again after the next run",
                err=True,
            )
        elif each.detail:
            click.echo(f"alerts by {each.channel}: {_line(each.detail)}", err=True)


def _changes(checked: Checked, *, brief: bool) -> list[str]:
    if brief and checked.not_kept:
        return [f"no alerts: {checked.not_kept}"] if checked.notices else []
    lines = [f"nothing is kept or sent: {checked.not_kept}"] if checked.not_kept else []
    lines += [f"alert {each.title}" if each.closed else f"ALERT: {each.title}" for each in checked.notices]
    if not brief:
        lines += [
            f"alert still open: {_line(each.content['what'])} (since run {each.opened_run})" for each in checked.still
        ]
        lines += [f"cannot tell: {_line(each.what)}" for each in checked.unknown]
        lines += [] if checked.notices or checked.still else ["nothing to tell"]
    return lines


def _line(text: str) -> str:
    from steelyard.report.format import one_line

    return one_line(text, 500)


def checked_data(checked: Checked) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "not_kept": checked.not_kept or None,
        "notices": [each.as_data() for each in checked.notices],
        "still_open": [{"alert": each.number, "cause": each.cause, "since": each.opened_run} for each in checked.still],
        "cannot_tell": [{"cause": each.cause, "why": each.what} for each in checked.unknown],
        "messages": [{"channel": channel.label, "message": message.as_data()} for channel, message in checked.messages],
        "deliveries": [
            {"channel": each.channel, "state": each.state, "tries": each.tries, "detail": each.detail or None}
            for each in checked.delivered
        ],
    }

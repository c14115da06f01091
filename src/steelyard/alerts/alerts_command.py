"""The command alerts: what changed since earlier runs, sent once per cause."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.alerts.after_run import checked_data, here, report_checked
from steelyard.cli.options import as_json, run_name, store_url
from steelyard.cli.output import console, print_json
from steelyard.errors import UsageError
from steelyard.frozen import values_of
from steelyard.report.format import one_line
from steelyard.wording import when

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steelyard.loading.alerts import AlertSettings
    from steelyard.records import RunHeader
    from steelyard.store.alert_log import AlertRecord, Delivery


@click.group("alerts")
def alerts_command() -> None:
    """Send alerts about what changed, once for each cause."""


@alerts_command.command("check")
@run_name
@click.option(
    "--suite",
    metavar="SUITE",
    help="Use the rules and channels of this suite as it is now, not those stored with the run.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be sent; nothing is stored or sent.")
@store_url
@as_json
def check(run: str, suite: str | None, dry_run: bool, store_url: str | None, as_json: bool) -> None:
    """Check RUN by its suite's rules, and send what is new.

    What the suite does not say comes from steelyard.yaml in the working folder. Ends with 2 when something could not be
    delivered.
    """
    from steelyard.alerts.notify import check_run
    from steelyard.store.alert_log import FAILED
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        header = store.run(run)
        settings = _settings(header, suite)
        checked = check_run(store, header, settings, here(), dry_run=dry_run)
    if as_json:
        print_json(checked_data(checked))
        report_checked(checked, only_trouble=True)
    else:
        report_checked(checked, texts=bool(checked.not_kept), err=False)
    sys.exit(2 if any(item.state == FAILED for item in checked.delivered) else 0)


def _settings(header: RunHeader, suite: str | None) -> AlertSettings:
    from steelyard.loading.alerts import AlertSettings, settings_from
    from steelyard.loading.load import PROJECT_FILE, load_suite, project_alerts
    from steelyard.results.operations import refuse_other_suite

    if suite is None:
        own = settings_from(header.description.alerts)
    else:
        loaded = load_suite(suite)
        refuse_other_suite(header, loaded)
        own = loaded.alerts
    settings = (own or AlertSettings()).over(project_alerts(Path.cwd()))
    if settings.rules:
        return settings
    where = (
        "its suite had none when it ran (--suite SUITE takes those of today)" if suite is None else "the suite has none"
    )
    raise UsageError(f"run {header.id} has no alert rules: {where}, nor has {PROJECT_FILE} here")


@alerts_command.command("list")
@click.argument("suite", metavar="[SUITE]", required=False)
@click.option("--all", "every", is_flag=True, help="Also list closed alerts.")
@store_url
@as_json
def list_(suite: str | None, every: bool, store_url: str | None, as_json: bool) -> None:
    """List the open alerts, and whether each notice was sent.

    With SUITE, those of the suite of that name.
    """
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        if suite is not None and not store.runs(suite, 1):
            raise UsageError(f"there is no run of a suite {suite} here, so no alert of it: give the suite's name")
        result = store.alerts(suite, closed=every)
        message = store.deliveries([item.number for item in result])
    if as_json:
        print_json([_data(item, message) for item in result])
    elif not result:
        click.echo(f"no {'' if every else 'open '}alerts{f' of {suite}' if suite else ''}")
    for item in result if not as_json else ():
        click.echo("\n".join(_wrapped(_lines(item, message))))


def _wrapped(lines: list[str]) -> Iterator[str]:
    width = console().width
    for line in lines:
        yield from textwrap.wrap(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _data(alert: AlertRecord, message: list[Delivery]) -> dict[str, Any]:
    return {
        "alert": alert.number,
        "suite": alert.suite_name,
        "cause": alert.cause,
        "open": alert.is_open,
        **values_of(alert, "opened_run", "opened_at", "seen_run", "closed_run", "closed_at"),
        **alert.content,
        "ending": alert.ending,
        "deliveries": [
            {
                **values_of(item, "notice", "channel", "state", "tries"),
                "at": item.sent_at,
                "detail": item.detail or None,
            }
            for item in message
            if item.alert == alert.number
        ],
    }


def _lines(alert: AlertRecord, message: list[Delivery]) -> list[str]:
    from steelyard.store.alert_log import FAILED

    state = "open" if alert.is_open else (alert.ending or {}).get("kind", "closed")
    lines = [
        f"#{alert.number} {state}: {one_line(alert.suite_name)}: {one_line(alert.content['what'], 300)}",
        f"    {one_line(alert.content['how_much'], 300)}",
        f"    since run {alert.opened_run} of {when(alert.opened_run_at)};"
        f" {'last seen' if alert.is_open else 'over'} in {alert.seen_run}",
    ]
    lines += [
        f"    NOT DELIVERED ({item.notice}) by {one_line(item.channel)}: {one_line(item.detail, 300)}"
        for item in message
        if item.alert == alert.number and item.state == FAILED
    ]
    return [line for line in lines if line.strip()]

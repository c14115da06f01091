"""`steelyard alerts`."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.shared_options import as_json, run_name, store_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steelyard.alerts.rules import AlertSettings
    from steelyard.records import RunHeader
    from steelyard.store.logs import AlertRecord, Delivery


@click.group("alerts")
def command() -> None:
    """Tell people what changed, once for each cause."""


@command.command("check")
@run_name
@click.option(
    "--suite",
    metavar="SUITE",
    help="Take the rules and channels of this suite as it is now, not those kept with the run.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be sent; nothing is kept or sent.")
@store_url
@as_json
def check(run: str, suite: str | None, dry_run: bool, store_url: str | None, as_json: bool) -> None:
    """Hold RUN against its suite's rules; tell every channel what is new.

    What the suite does not say comes from steelyard.yaml in the working folder. Ends with 1 when something could not be
    delivered.
    """
    from steelyard.alerts.notify import check_run
    from steelyard.cli.after_run import checked_data, here, tell_checked
    from steelyard.cli.show import print_json
    from steelyard.store.logs import FAILED
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        header = store.run(run)
        settings = _settings(header, suite)
        checked = check_run(store, header, settings, here(), dry_run=dry_run)
    finally:
        store.close()
    if as_json:
        print_json(checked_data(checked))
        tell_checked(checked, only_trouble=True)
    else:
        tell_checked(checked, texts=bool(checked.not_kept), err=False)
    sys.exit(1 if any(each.state == FAILED for each in checked.delivered) else 0)


def _settings(header: RunHeader, suite: str | None) -> AlertSettings:
    from steelyard.alerts.rules import AlertSettings, settings_from
    from steelyard.errors import UserMistake
    from steelyard.suite.load import PROJECT_FILE, load_suite, project_alerts
    # LOST from steelyard.suite.alert_settings import AlertSettings
    # LOST from steelyard.suite.alert_settings import settings_from

    if suite is None:
        own = settings_from(header.description.alerts)
    else:
        loaded = load_suite(suite)
        if loaded.name != header.suite_name:
            raise UserMistake(f"run {header.id} is one of suite {header.suite_name}, not of {loaded.name}")
        own = loaded.alerts
    settings = (own or AlertSettings()).over(project_alerts(Path.cwd()))
    if settings.rules:
        return settings
    where = (
        "its suite had none when it ran (--suite SUITE takes those of today)" if suite is None else "the suite has none"
    )
    raise UserMistake(f"run {header.id} has no rules to be held against: {where}, nor has {PROJECT_FILE} here")


@command.command("list")
@click.argument("suite", metavar="[SUITE]", required=False)
@click.option("--all", "every", is_flag=True, help="Alerts that are over, too.")
@store_url
@as_json
def list_(suite: str | None, every: bool, store_url: str | None, as_json: bool) -> None:
    """List the open alerts, and what became of telling people.

    With SUITE, those of the suite of that name.
    """
    from steelyard.cli.show import print_json
    from steelyard.errors import UserMistake
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        if suite is not None and not store.runs(suite, 1):
            raise UserMistake(f"there is no run of a suite {suite} here, so no alert of it: give the suite's name")
        found = store.alerts(suite, closed=every)
        told = store.deliveries([each.number for each in found])
    finally:
        store.close()
    if as_json:
        print_json([_data(each, told) for each in found])
    elif not found:
        click.echo(f"no {'' if every else 'open '}alerts{f' of {suite}' if suite else ''}")
    for each in found if not as_json else ():
        click.echo("\n".join(_wrapped(_lines(each, told))))


def _wrapped(lines: list[str]) -> Iterator[str]:
    from steelyard.cli.show import console

    width = console().width
    for line in lines:
        yield from textwrap.wrap(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _data(alert: AlertRecord, told: list[Delivery]) -> dict[str, Any]:
    return {
        "alert": alert.number,
        "suite": alert.suite_name,
        "cause": alert.cause,
        "open": alert.is_open,
        "opened_run": alert.opened_run,
        "opened_at": alert.opened_at,
        "seen_run": alert.seen_run,
        "closed_run": alert.closed_run,
        "closed_at": alert.closed_at,
        **alert.content,
        "ending": alert.ending,
        "deliveries": [
            {
                "notice": each.notice,
                "channel": each.channel,
                "state": each.state,
                "tries": each.tries,
                "at": each.told_at,
                "detail": each.detail or None,
            }
            for each in told
            if each.alert == alert.number
        ],
    }


def _lines(alert: AlertRecord, told: list[Delivery]) -> list[str]:
    from steelyard.alerts.notices import moment
    from steelyard.report.format import one_line
    from steelyard.store.logs import FAILED

    state = "open" if alert.is_open else (alert.ending or {}).get("kind", "closed")
    lines = [
        f"#{alert.number} {state}: {one_line(alert.suite_name)}: {one_line(alert.content['what'], 300)}",
        f"    {one_line(alert.content['how_much'], 300)}",
        f"    since run {alert.opened_run} of {moment(alert.opened_run_at)};"
        f" {'last seen' if alert.is_open else 'over'} in {alert.seen_run}",
    ]
    lines += [
        f"    NOT DELIVERED ({each.notice}) by {one_line(each.channel)}: {one_line(each.detail, 300)}"
        for each in told
        if each.alert == alert.number and each.state == FAILED
    ]
    return [line for line in lines if line.strip()]

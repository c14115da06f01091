"""`steelyard runs`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.shared_options import as_json, store_url

if TYPE_CHECKING:
    from steelyard.records import RunHeader

_LONGEST_NAME = 60


@click.command("runs")
@click.argument("suite", metavar="[SUITE]", required=False)
@click.option(
    "--last", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="List the newest N runs."
)
@store_url
@as_json
def command(suite: str | None, last: int, store_url: str | None, as_json: bool) -> None:
    """List the stored runs, newest first.

    With SUITE, only the runs of the suite of that name.
    """
    from steelyard.cli.show import console, print_json
    from steelyard.store.open import open_store

    store = open_store(store_url, create=False)
    try:
        runs = store.runs(suite, last)
    finally:
        store.close()
    if as_json:
        print_json([_row(run) for run in runs])
        return
    if not runs:
        click.echo(f"no runs of a suite {suite}" if suite else "no runs yet: steelyard run SUITE makes one")
        return
    from rich.table import Table
    from rich.text import Text

    from steelyard.engine.owner import state_of
    from steelyard.report.format import one_line
    from steelyard.report.judged import judge_name

    table = Table(box=None, pad_edge=False)
    for name in ("run", "state", "verdict"):
        table.add_column(name, no_wrap=True)
    table.add_column("samples planned", justify="right")
    judged = any(judge_name(run) for run in runs)
    if judged:
        table.add_column("judged by", overflow="fold")
    for run in runs:
        by = [Text(one_line(judge_name(run), _LONGEST_NAME))] if judged else []
        table.add_row(run.id, state_of(run), _verdict(run), str(run.n_planned), *by)
    console().print(table)
    for run in runs:
        if told := run.options.get("retried"):
            click.echo(f"{run.id} retried {told['asked']:,} of {told['run']}")


def _verdict(run: RunHeader) -> str:
    from steelyard.analysis.sound_runs import is_partial

    word = run.verdict.value if run.verdict is not None else "no gates" if run.ended_at else "-"
    return f"{word}, partial" if is_partial(run) else word


def _row(run: RunHeader) -> dict[str, Any]:
    from steelyard.analysis.sound_runs import answers_from, is_partial
    from steelyard.engine.owner import state_of
    from steelyard.report.judged import judge_name

    return {
        "id": run.id,
        "suite": run.suite_name,
        "began": datetime.fromtimestamp(run.created_at, UTC).isoformat(timespec="seconds"),
        "state": state_of(run),
        "verdict": run.verdict.value if run.verdict else None,
        "partial": is_partial(run),
        "planned": run.n_planned,
        "judge": judge_name(run) or None,
        "answers_of": answers_from(run) or None,
        "retried": run.options.get("retried"),
    }

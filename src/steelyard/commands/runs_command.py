"""The command runs: stored runs listed, deleted and pruned."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import as_json, completed, store_url
from steelyard.cli.output import confirm, console, print_json
from steelyard.errors import UsageError
from steelyard.records import RunState
from steelyard.report.format import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.records import RunHeader
    from steelyard.run_history.deleted_runs import DeletedRuns
    from steelyard.stats.intervals import Estimate
    from steelyard.store.deletion import Deletion
    from steelyard.store.sql import SqlStore


_MOST_NAMES = 5


_LONGEST_NAME = 60
_WIDE, _LONGEST_LINE = 100, 1_000


class _RunsGroup(click.Group):
    """A group whose first command is meant where none is named: `runs SUITE` is `runs list SUITE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        # A shell that completes a word does not mean the list yet.
        return super().parse_args(ctx, args if named or ctx.resilient_parsing else ["list", *args])


@click.group("runs", cls=_RunsGroup)
def runs_command() -> None:
    """List the stored runs, newest first; delete runs.

    `steelyard runs [SUITE]` lists; it takes the options of `steelyard runs list`.
    """


@runs_command.command("list")
@click.argument("suite", metavar="[SUITE]", required=False)
@click.option(
    "--last", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="List the newest N runs."
)
@store_url
@as_json
def list_runs(suite: str | None, last: int, store_url: str | None, as_json: bool) -> None:
    """List the stored runs, newest first.

    With SUITE, only the runs of the suite of that name.
    """
    from steelyard.analysis.stored import figures_of
    from steelyard.run_history.deleted_runs import deletions
    from steelyard.store.deletion import unfinished_deletions
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        runs, deleted = store.runs(suite, last), deletions(store.deleted_runs(suite))
        unfinished = unfinished_deletions(store)
        figures = figures_of(store, runs, ("pass_rate",))
    rates = {run.id: figures[run.id].slice()["pass_rate"] for run in runs if run.id in figures and _has_pass_rule(run)}
    if as_json:
        changes = _changes(runs)
        print_json([_row(run, rates.get(run.id)) | {"target_changes": changes[run.id]} for run in runs])
        return
    if not runs:
        click.echo(f"no runs of a suite {suite}" if suite else "no runs yet: steelyard run SUITE makes one")
        _list_deleted(deleted, unfinished)
        return
    _print_table(runs, rates)
    _list_notes(runs)
    _list_deleted(deleted, unfinished)


def _list_notes(runs: Sequence[RunHeader]) -> None:
    """What is to be known of the runs besides their rows: changed targets, retries and where answers came from."""
    changes = _changes(runs)
    for run in runs:
        if text := changes[run.id]:
            click.echo(one_line(f"{run.id}: the target changed since the run before: {text}"))
        if (retried := run.options.retried) is not None:
            click.echo(f"{run.id} retried {retried.asked:,} of {retried.run}")
        if (imported := run.options.imported) is not None and imported.tool:
            click.echo(f"{run.id} was scored by {imported.tool}, not by Steelyard")
        if run.options.resumed_from is not None:
            click.echo(f"{run.id} was resumed from {run.options.resumed_from}, with changed scorers")


def _changes(runs: Sequence[RunHeader]) -> dict[str, str]:
    """By run, in which settings its target differs from that of the run of its suite before it; "" for none."""
    from steelyard.analysis.target import changes_text, target_changes

    results: dict[str, str] = {}
    before: dict[str, RunHeader] = {}
    for run in reversed(runs):
        earlier = before.get(run.suite_name)
        results[run.id] = "" if earlier is None else changes_text(target_changes(earlier, run))
        before[run.suite_name] = run
    return results


def _print_table(runs: list[RunHeader], rates: Mapping[str, Estimate]) -> None:
    from rich.table import Table
    from rich.text import Text

    from steelyard.engine.owner import state_of
    from steelyard.report.judge.run import judge_name

    models = any(_model(run) for run in runs)
    # In a narrow terminal, target and model get what is left, and judges stand below the table.
    judged = console().width >= _WIDE and any(judge_name(run) for run in runs)
    table = Table(box=None, pad_edge=False)
    for name in ("run", "verdict", "pass rate"):
        table.add_column(name, no_wrap=True)
    for name in ("target", *(["model"] if models else []), *(["judged by"] if judged else [])):
        table.add_column(name)
    for run in runs:
        state = state_of(run)
        word = _verdict(run) if state == RunState.ENDED else state
        names = [_target(run), *([_model(run)] if models else []), *([judge_name(run)] if judged else [])]
        shown = [Text(one_line(name, _LONGEST_NAME), no_wrap=True, overflow="ellipsis") for name in names]
        table.add_row(run.id, word, _rate_text(rates.get(run.id)), *shown)
    console().print(table)
    if not judged:
        for name in dict.fromkeys(filter(None, map(judge_name, runs))):
            mine = [run.id for run in runs if judge_name(run) == name]
            more = f" and {len(mine) - _MOST_NAMES:,} more" if len(mine) > _MOST_NAMES else ""
            click.echo(one_line(f"judged by {name}: {', '.join(mine[:_MOST_NAMES])}{more}", _LONGEST_LINE))


def _list_deleted(deletions: tuple[DeletedRuns, ...], unfinished: list[str]) -> None:
    for item in reversed(deletions):
        click.echo(item.sentence)
    if unfinished:
        click.echo(_unfinished(unfinished, _FINISH))


def _target(run: RunHeader) -> str:
    """The target's name, or what it is; the model has a column of its own."""
    from steelyard.analysis.target import target_description

    return run.options.target_name or target_description(run).removesuffix(_model(run)).strip()


def _model(run: RunHeader) -> str:
    """The model that was asked; "" of a target that names none."""
    return run.signature.model or ""


def _has_pass_rule(run: RunHeader) -> bool:
    """Whether the suite says when a sample passes; without, a pass rate is of nothing."""
    return bool(run.suite.get("passing"))


def _rate_text(rate: Estimate | None) -> str:
    from steelyard.report.format import base, percent

    return "-" if rate is None else f"{percent(rate.value)} {base(rate.n, rate.n_missing)}"


def _verdict(run: RunHeader) -> str:
    from steelyard.store.headers import is_partial

    word = run.verdict.value if run.verdict is not None else "no gates" if run.ended_at else "-"
    return f"{word}, partial" if is_partial(run) else word


def _row(run: RunHeader, rate: Estimate | None) -> dict[str, Any]:
    from steelyard.engine.owner import state_of
    from steelyard.report.judge.run import judge_name
    from steelyard.store.headers import answers_from, is_partial

    return {
        "id": run.id,
        "suite": run.suite_name,
        "began": datetime.fromtimestamp(run.created_at, UTC).isoformat(timespec="seconds"),
        "state": state_of(run),
        "verdict": run.verdict.value if run.verdict else None,
        "partial": is_partial(run),
        "target": _target(run),
        "model": _model(run) or None,
        "pass_rate": rate and {"value": rate.value, "n": rate.n, "missing": rate.n_missing},
        "planned": run.n_planned,
        "judge": judge_name(run) or None,
        "scored_by": (run.options.imported.tool or None) if run.options.imported is not None else None,
        "answers_of": answers_from(run) or None,
        "retried": run.options.retried and asdict(run.options.retried),
    }


_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be deleted; nothing is.")
_YES = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@runs_command.command("delete")
@click.argument("runs", metavar="[RUN...]", nargs=-1, shell_complete=completed("runs"))
@_DRY_RUN
@_YES
@store_url
@as_json
def delete(runs: tuple[str, ...], dry_run: bool, yes: bool, store_url: str | None, as_json: bool) -> None:
    """Delete runs for good; says what that frees, and asks first.

    Baselines, runs that others are scored from, runs under way and runs with people's labels are left, and it says why.
    Ends with 2 when one of the runs was left. Other processes can write meanwhile. A deletion that was stopped is
    finished by the next one, or without a RUN.
    """
    from steelyard.store.deletion import unfinished_deletions
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        unfinished = unfinished_deletions(store)
        if not (runs or unfinished):
            raise UsageError("name the runs to delete: no earlier deletion is unfinished")
        wanted = list(dict.fromkeys(store.run(name).id for name in runs if name not in unfinished))
        left = _deleted(store, wanted, dry_run=dry_run, yes=yes, as_json=as_json)
    sys.exit(2 if left else 0)


@runs_command.command("prune")
@click.option("--keep", metavar="N", type=click.IntRange(min=1), required=True, help="Keep the newest N of each suite.")
@click.option("--suite", metavar="SUITE", help="Delete runs of the suite of this name alone.")
@_DRY_RUN
@_YES
@store_url
@as_json
def prune(keep: int, suite: str | None, dry_run: bool, yes: bool, store_url: str | None, as_json: bool) -> None:
    """Delete all but the newest runs of each suite; says what that frees, and asks first.

    What `steelyard runs delete` leaves is left.
    """
    from steelyard.store.deletion import unfinished_deletions
    from steelyard.store.sql import open_store

    with open_store(store_url, create=False) as store:
        suites = [name for name, _ in store.listing.suites() if suite in (None, name)]
        if not suites and not unfinished_deletions(store):
            none = f"there is no run of a suite {suite} here: give the suite's name"
            raise UsageError(none if suite else "there is no run here, and nothing to delete")
        wanted = [run.id for name in suites for run in store.runs(name)[keep:]]
        _deleted(store, wanted, dry_run=dry_run, yes=yes, as_json=as_json)


def _deleted(store: SqlStore, wanted: list[str], *, dry_run: bool, yes: bool, as_json: bool) -> dict[str, str]:
    """Say what deleting the runs does, do it once somebody agrees, and give what was left, with why."""
    from steelyard.engine.owner import state_of
    from steelyard.store.deletion import delete_runs, plan_deletion, unfinished_deletions

    store.notify(lambda text: click.echo(text, err=True))

    def goes_on(run: RunHeader) -> bool:
        return state_of(run) == RunState.RUNNING

    planned, unfinished = plan_deletion(store, wanted, goes_on), unfinished_deletions(store)
    if not as_json:
        _print_plan(planned, unfinished)
    done = bool(planned.runs or unfinished) and not dry_run
    if done and planned.runs:
        confirm(f"Delete {counted(len(planned.runs), 'run')} for good?", yes=yes)
    if done:
        try:
            planned = delete_runs(store, planned, goes_on)
        except KeyboardInterrupt:
            if rest := unfinished_deletions(store):
                click.echo(_unfinished(rest, _FINISH), err=True)
            raise
    if as_json:
        left = [{"run": run_id, "why": why} for run_id, why in planned.left.items()]
        rows = [asdict(item) for item in planned.runs]
        data: dict[str, Any] = {"runs": rows, "left": left, "bytes": planned.bytes, "deleted": done}
        print_json(data | {"finished": unfinished, "freed": planned.freed, "not_shrunk": planned.not_shrunk or None})
    elif done:
        smaller = "" if planned.freed is None else f"; the store is {_in_bytes(planned.freed)} smaller"
        if planned.not_shrunk:
            smaller = f"; later runs use their room, and the file keeps its size ({planned.not_shrunk})"
        n = counted(len(planned.runs) + len(unfinished), "run")
        click.echo(f"{n} deleted{smaller}; history and later reports still count them")
    return planned.left


def _print_plan(planned: Deletion, unfinished: list[str]) -> None:
    if unfinished:
        click.echo(_unfinished(unfinished, "this deletes the rest"))
        if not (planned.runs or planned.left):
            return
    for item in planned.runs:
        click.echo(f"{item.run}  {counted(item.samples, 'sample')}, {_in_bytes(item.bytes)}")
    for run_id, why in planned.left.items():
        click.echo(f"NOT DELETED: {run_id}: {why}")
    click.echo(f"{counted(len(planned.runs), 'run')} to delete, about {_in_bytes(planned.bytes)} with their cases")


_FINISH = "`steelyard runs delete` without a RUN deletes the rest"


def _unfinished(runs: list[str], what_next: str) -> str:
    names = ", ".join(runs[:3]) + (", ..." if runs[3:] else "")
    return f"the deletion of {counted(len(runs), 'run')} is not finished ({names}): {what_next}"


def _in_bytes(n: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if n < 1_000:
            return f"{n:,.0f} {unit}" if unit == "bytes" else f"{n:.1f} {unit}"
        n /= 1_000
    return f"{n:,.1f} GB"

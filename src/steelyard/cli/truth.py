"""`steelyard truth`: edits of the truth with their reasons, suggestions, and what is wrong with the cases."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import as_json, store_url

if TYPE_CHECKING:
    from steelyard.runner.attribute import Changes, Edit
    from steelyard.suite.models import SuiteModel
    from steelyard.suite.truth import LedgerLine

_SINCE = click.option(
    "--since",
    metavar="RUN|@BASELINE|FILE",
    help="The run that the suite is compared with. [default: its newest ended run]",
)
_NO_REASON = 1


@click.group("truth")
def truth_command() -> None:
    """Say why truth and scorers were edited, and see what was."""


@truth_command.command("log")
@click.argument("suite", metavar="SUITE")
@as_json
def log(suite: str, as_json: bool) -> None:
    """List the ledger of SUITE, newest first: who edited what, and why."""
    from steelyard.cli.output import print_json
    from steelyard.suite.load import load_suite
    from steelyard.suite.truth import LEDGER_FILE, newest_first

    lines = newest_first(load_suite(suite).ledger)
    if as_json:
        print_json([line.as_data() for line in lines])
    elif not lines:
        click.echo(f"there is no {LEDGER_FILE} yet: steelyard truth note {suite} --reason TEXT writes its first lines")
    else:
        for line in lines:
            click.echo(_message(line))


@truth_command.command("check")
@click.argument("suite", metavar="SUITE")
@_SINCE
@store_url
@as_json
def check(suite: str, since: str | None, store_url: str | None, as_json: bool) -> None:
    """Say what changed in truth and scorers since a run, each edit with its reason.

    Exit code 1 when an edit has no reason in the ledger, 0 otherwise.
    """
    from steelyard.cli.output import print_json

    _, changes = _changes(suite, since, store_url)
    without = len(changes.without_reason)
    if as_json:
        about = {"suite": changes.since.suite_name, "since": changes.since.id, "partial": changes.partial}
        print_json(about | {"without_reason": without, "edits": [_edit_data(edit) for edit in changes.edits]})
    else:
        _show(changes, suite)
    sys.exit(_NO_REASON if without else 0)


@truth_command.command("note")
@click.argument("suite", metavar="SUITE")
@click.option("--reason", metavar="TEXT", required=True, help="Why it was edited; the ledger keeps it.")
@click.option("--case", "cases", metavar="ID", multiple=True, help="Of this case. May be given more than once.")
@click.option("--scorers", is_flag=True, help="Of scorers, weights, pass rule, schema and the judge's rules.")
@click.option("--by", metavar="WHO", help="Who edited it. [default: the user of this machine, or of the CI]")
@_SINCE
@store_url
@as_json
def note(
    suite: str,
    reason: str,
    cases: tuple[str, ...],
    scorers: bool,
    by: str | None,
    since: str | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Write the reason of edits into the ledger of SUITE.

    Without --case and --scorers it is the reason of every edit since the run that has none yet.
    """
    from steelyard.cli.output import print_json
    from steelyard.decide.baselines import whoever
    from steelyard.runner.attribute import note as note_edits
    from steelyard.suite.truth import LEDGER_FILE

    loaded, changes = _changes(suite, since, store_url)
    lines = note_edits(loaded, changes, by=by or whoever(), reason=reason, cases=cases, evaluation=scorers)
    if as_json:
        print_json([line.as_data() for line in lines])
        return
    for line in lines:
        click.echo(f"  {_named(line.what, line.case)}")
    left = len(changes.without_reason) - len(lines)
    still = f"; {_counted(left)} without a reason {'is' if left == 1 else 'are'} left" if left else ""
    click.echo(f"{_counted(len(lines))} noted in {_from_here(loaded.folder / LEDGER_FILE)}{still}")


def _changes(suite: str, since: str | None, store_url: str | None) -> tuple[SuiteModel, Changes]:
    from steelyard.cli.options import file_reference, names_a_file
    from steelyard.decide.baselines import find_reference
    from steelyard.runner.attribute import changes_since, newest_run
    from steelyard.store.sql import open_store
    from steelyard.suite.load import load_suite

    loaded = load_suite(suite)
    with ExitStack() as closing:
        if since is not None and names_a_file(since):
            reference = file_reference(since, loaded.name, closing)
            if reference.store is not None:
                return loaded, changes_since(loaded, reference.store, reference.store.run(reference.run_id))
        store = open_store(store_url, create=False)
        closing.callback(store.close)
        if since is None:
            return loaded, changes_since(loaded, store, newest_run(loaded, store))
        header = store.run(find_reference(store, since, loaded.name).run_id)
        return loaded, changes_since(loaded, store, header)


def _show(changes: Changes, suite: str) -> None:
    run = changes.since.id
    if changes.partial:
        message = f"run {run} asked a part of the cases alone: cannot tell which others were edited or added since"
        click.echo(f"note: {message}", err=True)
    if not changes.edits:
        click.echo(f"truth and scorers are as they were in run {run}")
        return
    for edit in changes.edits:
        click.echo(f"{edit.kind:<7}  {_named(edit.what, edit.case)}: {_why(edit)}")
    without = len(changes.without_reason)
    message = f"{without:,} of them without a reason" if without else "each with its reason"
    click.echo(f"{_counted(len(changes.edits))} since run {run}, {message}")
    if without:
        click.echo(f'  steelyard truth note {suite} --reason "..." says why')


def _why(edit: Edit) -> str:
    from steelyard.report.format import one_line

    line = edit.line
    return "no reason yet" if line is None else f"{one_line(line.reason)} ({one_line(line.by)}, {line.at[:10]})"


def _named(what: str, case: str | None) -> str:
    from steelyard.report.format import one_line
    from steelyard.suite.truth import NAMES

    return NAMES[what] if case is None else one_line(case)


def _message(line: LedgerLine) -> str:
    from steelyard.report.format import one_line
    from steelyard.suite.truth import kind_of

    what = f"{kind_of(line.before, line.after):<7}  {_named(line.what, line.case)}"
    return f"{line.at}  {what}\n    by {one_line(line.by)}: {one_line(line.reason)}"


def _edit_data(edit: Edit) -> dict[str, Any]:
    line = edit.line
    message = (
        {"reason": None, "by": None, "at": None} if line is None else line.model_dump(include={"reason", "by", "at"})
    )
    return {
        "what": edit.what,
        "case": edit.case,
        "kind": edit.kind,
        "before": edit.before,
        "after": edit.after,
    } | message


def _from_here(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _counted(n: int) -> str:
    return f"{n:,} edit{'' if n == 1 else 's'}"

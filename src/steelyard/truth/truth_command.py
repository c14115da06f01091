"""`steelyard truth`: edits of the truth with their reasons, suggestions, and what is wrong with the cases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from steelyard.cli.options import as_json, store_url
from steelyard.cli.output import print_json
from steelyard.cli.user import current_user
from steelyard.decide.baselines import find_reference
from steelyard.errors import SteelyardError
from steelyard.frozen import values_of
from steelyard.loading.load import load_suite
from steelyard.report.format import counted, one_line
from steelyard.results.find import file_reference, names_a_file
from steelyard.store.sql import open_store
from steelyard.suite.ledger import LEDGER_FILE, NAMES, LedgerLine, kind_of, newest_first, worth
from steelyard.suite.models import SuiteModel
from steelyard.suite.paths import MISSING
from steelyard.suite.yaml import shown
from steelyard.truth import edits as truth
from steelyard.truth import lint, suggestions
from steelyard.truth.blame import blame, changes_since_ledger
from steelyard.truth.decisions import accepted, decide
from steelyard.truth.suite_changes import SuiteChanges, changes_since, newest_run
from steelyard.truth.suite_changes import note as note_edits

CommandResult = tuple[Any, Sequence[str], int]
"""What a command has to say: as data, in lines, and with which exit code."""
_MOST_SHOWN = 50


@click.group("truth")
def truth_command() -> None:
    """Edit the truth, say why, see what was edited, decide on suggestions, lint."""


def _command(name: str, about: str, *options: Callable[[Any], Any]) -> Callable[[Callable[..., CommandResult]], None]:
    """A command on a suite; its function takes the suite and the options, and prints nothing itself."""

    def register(function: Callable[..., CommandResult]) -> None:
        def command(suite: str, as_json: bool, **given: Any) -> None:
            data, lines, code = function(suite, **given)
            if as_json:
                print_json(data)
            for line in () if as_json else lines:
                click.echo(line)
            sys.exit(code)

        for option in (as_json, *options[::-1], click.argument("suite", metavar="SUITE")):
            command = option(command)
        truth_command.command(name, help=about)(command)

    return register


def _writing(name: str, about: str, *options: Callable[[Any], Any]) -> Callable[[Callable[..., LedgerLine]], None]:
    """A command that writes a line of the ledger; its function takes an author, too."""

    def register(function: Callable[..., LedgerLine]) -> None:
        def write(suite: str, reason: str, by: str | None, **given: Any) -> CommandResult:
            line = function(suite, author=truth.Author(by or current_user(), reason), **given)
            missing = truth.still_missing(suite, line.case)
            left = (
                [f"{one_line(str(line.case))} is still pending: it has no {', no '.join(missing)}"] if missing else []
            )
            return line.as_data(), [_message(line), *left], 0

        _command(name, about, *options, _REASON, _BY)(write)

    return register


_REASON = click.option("--reason", metavar="TEXT", required=True, help="Why; the ledger keeps it.")
_BY = click.option("--by", metavar="WHO", help="Who does it. [default: the user of this machine, or of the CI]")
_CASE = click.argument("case_id", metavar="CASE")
_SET = click.option(
    "--set",
    "values",
    metavar="PATH=VALUE",
    multiple=True,
    callback=lambda _, __, given: dict(map(truth.assigned, given)),
    help="Put this value there: expected.maker=Thonet; JSON where it is any. May be given more than once.",
)
_UNCHANGED = click.option(
    "--unchanged",
    metavar="PATH",
    multiple=True,
    help="A field that depends on an edited one, such as its keywords, stays. May be given more than once.",
)
_NEW_FIELD = click.option("--new-field", is_flag=True, help="A field of the truth that no case has yet is meant.")
_SINCE = click.option(
    "--since",
    metavar="RUN|@BASELINE|FILE",
    help="The run that the suite is compared with. [default: its newest ended run]",
)
_ID = click.argument("name", metavar="ID")
_RUNS = (
    click.option("--run", "runs", metavar="RUN", multiple=True, help="Look at this run. [default: the newest 50]"),
    click.option("--agree", metavar="N", type=click.IntRange(1), default=3, help="Fewest voters. [default: 3]"),
    store_url,
)


@_writing("add", "Add a CASE of this id to SUITE: --set input.text=... and expected.name=...", _CASE, _SET, _NEW_FIELD)
def _add(suite: str, case_id: str, values: dict[str, Any], **options: Any) -> LedgerLine:
    return truth.change_case(suite, case_id, {"": {"id": case_id}, **values}, **options)


@_writing(
    "edit",
    "Edit the truth of a CASE in its file; the rest of the file stays as it is.",
    _CASE,
    _SET,
    click.option("--unset", "removed", metavar="PATH", multiple=True, help="Take the value there away."),
    _UNCHANGED,
    _NEW_FIELD,
)
def _edit(suite: str, case_id: str, values: dict[str, Any], removed: Sequence[str], **options: Any) -> LedgerLine:
    return truth.change_case(suite, case_id, values | dict.fromkeys(removed, MISSING), **options)


@_writing("retire", "Take a CASE out of its file; the ledger keeps it, and `revert` brings it back.", _CASE)
def _retire(suite: str, case_id: str, author: truth.Author) -> LedgerLine:
    return truth.change_case(suite, case_id, {"": MISSING}, author)


_writing(
    "revert",
    "Undo what a LINE of the ledger changed, as `truth log` numbers them, with a new line.",
    click.argument("number", metavar="LINE", type=int),
)(truth.revert_line)


@_command(
    "diff",
    "Show what is another than the ledger says: edits by hand, or a command that was killed half-way.",
    click.argument("case", metavar="[CASE]", required=False),
)
def _diff(suite: str, case: str | None) -> CommandResult:
    rows, lines = [], []
    for item in changes_since_ledger(load_suite(suite), case):
        sides = {"before": item.recorded, "after": item.now}
        sides = {side: value for side, value in sides.items() if value is not MISSING}
        rows.append(values_of(item, "case", "path") | sides)
        lines.append(f"{one_line(item.case)} {item.path}")
        lines += [f"  {'-' if side == 'before' else '+'} {shown(value)}" for side, value in sides.items()]
    return rows, lines or ["the truth is as the ledger says"], 0


@_command("blame", "Show who set each value of the truth of a CASE, when and why, or who retired it.", _CASE)
def _blame(suite: str, case_id: str) -> CommandResult:
    loaded, rows, lines = load_suite(suite), [], []
    for item in blame(loaded, case_id):
        line = loaded.ledger[item.number - 1] if item.number and item.as_recorded else None
        value = None if item.now is MISSING else item.now
        set_by = {"number": line and item.number, "line": line and line.as_data()}
        rows.append({"path": item.path, "value": value, **set_by})
        lines.append(f"{item.path}: {shown(value)}" if item.path else f"{one_line(case_id)} is retired")
        lines.append(f"    #{item.number} {_reason(line)}" if line else "    the ledger does not say")
    return rows, lines, 0


@_command("log", "List the ledger of SUITE, newest first: who edited what, and why.")
def _log(suite: str) -> CommandResult:
    loaded = load_suite(suite)
    newest, message = newest_first(loaded.ledger), worth(accepted(loaded))[1]
    numbers = {id(line): number for number, line in enumerate(loaded.ledger, 1)}
    lines = [f"#{numbers[id(line)]}  {_message(line)}" for line in newest]
    nothing = f"there is no {LEDGER_FILE} yet: steelyard truth note {suite} --reason TEXT writes its first lines"
    return [line.as_data() for line in newest], [*lines, *([message] if message else [])] or [nothing], 0


@_command(
    "suggest",
    """List answers that several runs or people agree on and that differ from the truth, with their evidence.

    Nothing becomes truth by itself: `accept` one as an alternative or as a correction, or `reject` it.
    """,
    *_RUNS,
    click.option("--all", "every", is_flag=True, help="Also those that were decided before."),
)
def _suggest(suite: str, every: bool, **options: Any) -> CommandResult:
    loaded, results, n_runs = _suggested(suite, **options)
    results = [item for item in results if every or not item.decision]
    data, message = worth(accepted(loaded))
    lines = []
    for item in results:
        ways = ", ".join(f"as {way} {points:+.1f} points" for way, points in sorted(item.points.items()))
        n = f"{item.voters} of {item.n_voters} voters, {counted(item.systems, 'system')}"
        n += f" and {counted(item.people, 'person', 'people')}" if item.people else ""
        lines += [
            f"{item.id}  {one_line(item.case)} {item.component}  ({item.place}) {item.decision}".rstrip(),
            f"    truth: {'pending' if item.pending else shown(item.truth)}",
            f"    answer: {shown(item.value)}",
            f"    {n}, {item.answers} of {item.n_answers} answers{f'; {ways}' if ways else ''}",
        ]
    total = f"{counted(len(results), 'suggestion')} from {counted(n_runs, 'run')}"
    if not results and n_runs < options["agree"]:
        total += f"; {options['agree']} voters must say the same: run more systems, or lower --agree"
    rows = {"runs": n_runs, "accepted": data, "suggestions": list(map(asdict, results))}
    return rows, [*lines, f"{total}; {message}" if message else total], 0


def _decide(
    suite: str,
    author: truth.Author,
    name: str,
    outcome: Any = "rejected",
    values: dict[str, Any] | None = None,
    unchanged: Sequence[str] = (),
    **options: Any,
) -> LedgerLine:
    return decide(suite, _suggested(suite, **options)[1], name, outcome, author, values, unchanged)


_writing(
    "accept",
    "Make the answer of a suggestion the truth, or an alternative to it.",
    _ID,
    click.option("--as", "outcome", type=click.Choice(["alternative", "correction"]), required=True),
    _SET,
    _UNCHANGED,
    *_RUNS,
)(_decide)
_writing("reject", "Say that the answer of a suggestion is wrong; it is not suggested again.", _ID, *_RUNS)(_decide)


def _suggested(
    suite: str, runs: Sequence[str], agree: int, store_url: str | None
) -> tuple[SuiteModel, list[suggestions.Suggestion], int]:
    loaded = load_suite(suite)
    with open_store(store_url, create=False) as store:
        headers = suggestions.chosen_runs(store, loaded, runs, pending=True)
        return loaded, suggestions.suggestions(loaded, store, headers, agree), len(headers)


@_command(
    "lint",
    """Look for cases and truths that spoil a result; exit code 1 when there is an error among them.

    Near-duplicates, keywords that match anything, ranges that cannot fail, truth in the input, and, from five ended
    runs on, cases that every run passes or fails.
    """,
    store_url,
)
def _lint(suite: str, store_url: str | None) -> CommandResult:
    loaded = load_suite(suite)
    with ExitStack() as stack:
        store = None
        # Without a store there are no runs to look at, unless one was asked for.
        with nullcontext() if store_url else suppress(SteelyardError):
            store = stack.enter_context(open_store(store_url, create=False))
        results = lint.lint(loaded, store)
    n_errors = sum(item.severity == "error" for item in results)
    lines = []
    for item in results[:_MOST_SHOWN]:
        where = f"{item.place}  {one_line(item.case)}: " if item.case else ""
        lines.append(f"{item.severity:<7}  {where}{one_line(item.message)} ({item.fix})")
    if len(results) > _MOST_SHOWN:
        lines.append(f"and {len(results) - _MOST_SHOWN:,} more: --json lists them")
    n = f"{counted(len(results), 'finding')} in {counted(loaded.survey.n, 'case')}"
    return list(map(asdict, results)), [*lines, f"{n}, {n_errors:,} of them errors"], int(n_errors > 0)


@_command(
    "check",
    """List edits of truth, scorers and criteria since a run, with reasons.

    Exit code 1 when an edit has no reason in the ledger, 0 otherwise.
    """,
    _SINCE,
    store_url,
)
def _check(suite: str, since: str | None, store_url: str | None) -> CommandResult:
    _, changes = _changes(suite, since, store_url)
    run, without = changes.since.id, len(changes.without_reason)
    rows = [
        values_of(edit, "what", "case", "kind", "before", "after")
        | {name: getattr(edit.line, name, None) for name in ("reason", "by", "at")}
        | ({"values": list(edit.values)} if edit.values else {})
        for edit in changes.edits
    ]
    data = {"suite": changes.since.suite_name, "since": run, "partial": changes.partial}
    if changes.partial:
        message = f"run {run} covers only a part of the cases : cannot tell which others were edited or added since"
        click.echo(f"note: {message}", err=True)
    lines = [
        f"{edit.kind:<7}  {_named(edit.what, edit.case)}: {_reason(edit.line) if edit.line else 'no reason yet'}"
        + "".join(f"\n         {one_line(value)}" for value in edit.values)
        for edit in changes.edits
    ]
    message = f"{without:,} of them without a reason" if without else "each with its reason"
    lines.append(f"{counted(len(lines), 'edit')} since run {run}, {message}")
    if without:
        lines.append(f'  steelyard truth note {suite} --reason "..." says why')
    same = [f"truth and scorers are as they were in run {run}"]
    return data | {"without_reason": without, "edits": rows}, lines if rows else same, int(without > 0)


@_command(
    "note",
    """Write the reason of edits into the ledger of SUITE.

    Without --case and --scorers it is the reason of every edit since the run that has none yet.
    """,
    _REASON,
    click.option("--case", "cases", metavar="ID", multiple=True, help="Of this case. May be given more than once."),
    click.option(
        "--scorers", "evaluation", is_flag=True, help="Of scorers, weights, pass rule, schema and the judge's rules."
    ),
    _BY,
    _SINCE,
    store_url,
)
def _note(suite: str, by: str | None, since: str | None, store_url: str | None, **options: Any) -> CommandResult:
    loaded, changes = _changes(suite, since, store_url)
    noted = note_edits(loaded, changes, by=by or current_user(), **options)
    left = len(changes.without_reason) - len(noted)
    still = f"; {counted(left, 'edit')} without a reason {'is' if left == 1 else 'are'} left" if left else ""
    path = loaded.folder / LEDGER_FILE
    path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    lines = [f"  {_named(line.what, line.case)}" for line in noted]
    return [line.as_data() for line in noted], [*lines, f"{counted(len(noted), 'edit')} noted in {path}{still}"], 0


def _changes(suite: str, since: str | None, store_url: str | None) -> tuple[SuiteModel, SuiteChanges]:
    loaded = load_suite(suite)
    with ExitStack() as stack:
        if since is not None and names_a_file(since):
            reference = file_reference(since, loaded.name, stack)
            if reference.store is not None:
                return loaded, changes_since(loaded, reference.store, reference.store.run(reference.run_id))
        store = stack.enter_context(open_store(store_url, create=False))
        if since is None:
            return loaded, changes_since(loaded, store, newest_run(loaded, store))
        return loaded, changes_since(loaded, store, store.run(find_reference(store, since, loaded.name).run_id))


def _named(what: str, case: str | None) -> str:
    return NAMES[what] if case is None else one_line(case)


def _reason(line: LedgerLine) -> str:
    return f"{one_line(line.reason)} ({one_line(line.by)}, {line.at[:10]})"


def _message(line: LedgerLine) -> str:
    kind = line.suggestion.outcome if line.suggestion else kind_of(line.before, line.after)
    what = f"{kind:<7}  {_named(line.what, line.case)}"
    return f"{line.at}  {what}\n    by {one_line(line.by)}: {one_line(line.reason)}"

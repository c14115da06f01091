"""`steelyard truth`: edits of the truth with their reasons, suggestions, and what is wrong with the cases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import as_json, store_url
from steelyard.errors import SteelyardError, UsageError

if TYPE_CHECKING:
    from steelyard.people.suggestions import Suggestion
    from steelyard.people.truth import Author
    from steelyard.runner.attribute import Changes, Edit
    from steelyard.suite.models import SuiteModel
    from steelyard.suite.truth import LedgerLine

_SINCE = click.option(
    "--since",
    metavar="RUN|@BASELINE|FILE",
    help="The run that the suite is compared with. [default: its newest ended run]",
)
_NO_REASON = 1
_MOST_SHOWN = 50


@click.group("truth")
def truth_command() -> None:
    """Edit the truth, say why, see what was edited, decide on suggestions, lint."""


_CASE = click.argument("case", metavar="CASE")
_SET = click.option(
    "--set",
    "values",
    metavar="PATH=VALUE",
    multiple=True,
    callback=lambda _, __, given: dict(map(_assigned, given)),
    help="Put this value there: expected.maker=Thonet; JSON where it is any. May be given more than once.",
)


def _writing(name: str) -> Callable[[Callable[..., LedgerLine]], Any]:
    """A command that writes a line of the ledger; its function takes the suite, an author and options of its own."""

    def register(function: Callable[..., LedgerLine]) -> Any:
        def command(suite: str, reason: str, by: str | None, as_json: bool, **options: Any) -> None:
            from steelyard.cli.output import print_json
            from steelyard.decide.baselines import whoever
            from steelyard.people.truth import Author

            line = function(suite, Author(by or whoever(), reason), **options)
            if as_json:
                print_json(line.as_data())
            else:
                click.echo(_message(line))

        command.__doc__ = function.__doc__
        command.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined] # click's own
        for option in (
            click.option("--by", metavar="WHO", help="Who does it. [default: the user of this machine, or of the CI]"),
            click.option("--reason", metavar="TEXT", required=True, help="Why; the ledger keeps it."),
            as_json,
            click.argument("suite", metavar="SUITE"),
        ):
            command = option(command)
        return truth_command.command(name)(command)

    return register


@_writing("add")
@_CASE
@_SET
@click.option("--from", "source", metavar="PATH", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--file", metavar="NAME", help="The file of cases that it goes into. [default: the last]")
def add(
    suite: str, author: Author, case: str, values: dict[str, Any], source: Path | None, file: str | None
) -> LedgerLine:
    """Add a CASE of this id to SUITE: --set input.text=... and expected.name=..., or --from a YAML or JSON file."""
    from steelyard.people.truth import add_case, put
    from steelyard.suite.case import split_path
    from steelyard.suite.files import text_of
    from steelyard.suite.yaml import read_yaml

    given = {} if source is None else read_yaml(text_of(source, str(source)), str(source)).data
    if not isinstance(given, dict):
        raise UsageError(f"{source} is no case: a group of keys is needed")
    record: Any = {"id": case} | given | {"id": case}
    for path, value in values.items():
        record = put(record, split_path(path), value)
    return add_case(suite, record, author, file=file)


@_writing("edit")
@_CASE
@_SET
@click.option("--unset", "removed", metavar="PATH", multiple=True, help="Take the value there away.")
def edit(suite: str, author: Author, case: str, values: dict[str, Any], removed: tuple[str, ...]) -> LedgerLine:
    """Edit the truth of a CASE in its file; the rest of the file stays as it is."""
    from steelyard.people.truth import edit_case

    return edit_case(suite, case, values, author, removed=removed)


@_writing("retire")
@_CASE
def retire(suite: str, author: Author, case: str) -> LedgerLine:
    """Take a CASE out of its file; the ledger keeps it, and `revert` brings it back."""
    from steelyard.people.truth import retire_case

    return retire_case(suite, case, author)


@_writing("revert")
@click.argument("number", metavar="LINE", type=int)
def revert(suite: str, author: Author, number: int) -> LedgerLine:
    """Undo what a LINE of the ledger changed, as `truth log` numbers them, with a new line."""
    from steelyard.people.truth import revert_line

    return revert_line(suite, number, author)


@truth_command.command("diff")
@click.argument("suite", metavar="SUITE")
@click.argument("case", metavar="[CASE]", required=False)
@click.option("--since-line", "first", metavar="LINE", type=int, help="After this line of the ledger; 0: all lines.")
@click.option("--until-line", "last", metavar="LINE", type=int, help="Up to this line. [default: the last]")
@as_json
def diff(suite: str, case: str | None, first: int | None, last: int | None, as_json: bool) -> None:
    """Show what is another than the ledger says, or what some of its lines changed."""
    from steelyard.cli.output import print_json
    from steelyard.people.truth import changes_between, changes_since_ledger
    from steelyard.suite.load import load_suite
    from steelyard.suite.yaml import shown

    loaded = load_suite(suite)
    if first is None and last is None:
        results, nothing = changes_since_ledger(loaded, case), "the truth is as the ledger says"
    else:
        end = len(loaded.ledger) if last is None else last
        results, nothing = changes_between(loaded, first or 0, end, case), "these lines changed nothing that is kept"
    rows = [item.as_data() for item in results]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{_named('truth', row['case'])} {row['path']}")
        for side, sign in (("before", "-"), ("after", "+")):
            if side in row:
                click.echo(f"  {sign} {shown(row[side])}")
    if not rows:
        click.echo(nothing)


@truth_command.command("blame")
@click.argument("suite", metavar="SUITE")
@_CASE
@as_json
def blame(suite: str, case: str, as_json: bool) -> None:
    """Show who set each value of the truth of a CASE, when and why."""
    from steelyard.cli.output import print_json
    from steelyard.people.truth import blame as blamed
    from steelyard.suite.load import load_suite
    from steelyard.suite.yaml import shown

    values = blamed(load_suite(suite), case)
    if as_json:
        rows = [{"path": item.path, "value": item.value, "number": item.number} for item in values]
        lines = [{"line": None if item.line is None else item.line.as_data()} for item in values]
        print_json([row | line for row, line in zip(rows, lines, strict=True)])
        return
    for item in values:
        why = "the ledger does not say" if item.line is None else f"#{item.number} {_reason(item.line)}"
        click.echo(f"{item.path}: {shown(item.value)}\n    {why}")


# Suggestions.


def _from_runs(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which answers are looked at."""
    run = click.option("--run", "runs", metavar="RUN", multiple=True, help="Look at this run. [default: the newest 50]")
    fewest = click.option("--agree", metavar="N", type=click.IntRange(1), default=3, help="Fewest voters. [default: 3]")
    return run(fewest(store_url(function)))


@truth_command.command("suggest")
@click.argument("suite", metavar="SUITE")
@_from_runs
@click.option("--all", "every", is_flag=True, help="Also those that were decided before.")
@as_json
def suggest(suite: str, every: bool, as_json: bool, **options: Any) -> None:
    """List answers that several runs agree on and that differ from the truth, with their evidence.

    Nothing becomes truth by itself: `accept` one as an alternative or as a correction, or `reject` it.
    """
    from steelyard.cli.output import print_json
    from steelyard.report.format import counted
    from steelyard.suite.yaml import shown

    loaded, results, n_runs = _suggested(suite, **options)
    results = [item for item in results if every or not item.decision]
    if as_json:
        print_json({"runs": n_runs, "accepted": _accepted(loaded), "suggestions": list(map(asdict, results))})
        return
    for item in results:
        ways = ", ".join(f"as {way} {points:+.1f} points" for way, points in sorted(item.points.items()))
        n = f"{item.voters} of {item.n_voters} voters, {counted(item.systems, 'system')}"
        click.echo(f"{item.id}  {_named('truth', item.case)} {item.component}  ({item.place}) {item.decision}".rstrip())
        click.echo(f"    truth: {shown(item.truth)}\n    answer: {shown(item.value)}")
        click.echo(f"    {n}, {item.answers} of {item.n_answers} answers; {ways}")
    click.echo(f"{counted(len(results), 'suggestion')} from {counted(n_runs, 'run')}{_accepted_text(loaded)}")


@_writing("accept")
@click.argument("name", metavar="ID")
@click.option("--as", "outcome", type=click.Choice(["alternative", "correction"]), required=True)
@_from_runs
def accept(suite: str, author: Author, name: str, outcome: Any, **options: Any) -> LedgerLine:
    """Make the answer of a suggestion the truth, or an alternative to it."""
    from steelyard.people.suggestions import decide

    return decide(suite, _suggested(suite, **options)[1], name, outcome, author)


@_writing("reject")
@click.argument("name", metavar="ID")
@_from_runs
def reject(suite: str, author: Author, name: str, **options: Any) -> LedgerLine:
    """Say that the answer of a suggestion is wrong; it is not suggested again."""
    from steelyard.people.suggestions import decide

    return decide(suite, _suggested(suite, **options)[1], name, "rejected", author)


def _suggested(
    suite: str, runs: tuple[str, ...], agree: int, store_url: str | None
) -> tuple[SuiteModel, list[Suggestion], int]:
    from steelyard.people.suggestions import Rules, chosen_runs, suggestions
    from steelyard.store.sql import open_store
    from steelyard.suite.load import load_suite

    loaded = load_suite(suite)
    with closing(open_store(store_url, create=False)) as store:
        headers = chosen_runs(store, loaded, runs)
        return loaded, suggestions(loaded, store, headers, Rules(agree=agree)), len(headers)


def _accepted(suite: SuiteModel) -> dict[str, Any]:
    from steelyard.people.suggestions import accepted

    lines = [line.suggestion for line in accepted(suite) if line.suggestion]
    return {"n": len(lines), "points": sum(line.points or 0.0 for line in lines)}


def _accepted_text(suite: SuiteModel) -> str:
    given = _accepted(suite)
    one = "1 accepted suggestion is" if given["n"] == 1 else f"{given['n']} accepted suggestions are"
    return f"; {one} worth {given['points']:+.1f} points in the runs they came from" if given["n"] else ""


@truth_command.command("lint")
@click.argument("suite", metavar="SUITE")
@store_url
@as_json
def lint(suite: str, store_url: str | None, as_json: bool) -> None:
    """Look for cases and truths that spoil a result; exit code 1 when there is an error among them.

    Near-duplicates, keywords that match anything, ranges that cannot fail, truth in the input, and, from five ended
    runs on, cases that every run passes or fails.
    """
    from steelyard.cli.output import print_json
    from steelyard.people.lint import lint as linted
    from steelyard.report.format import counted, one_line
    from steelyard.store.sql import open_store
    from steelyard.suite.load import load_suite

    loaded = load_suite(suite)
    with ExitStack() as stack:
        store = None
        # Without a store there are no runs to look at, unless one was asked for.
        with nullcontext() if store_url else suppress(SteelyardError):
            store = stack.enter_context(closing(open_store(store_url, create=False)))
        results = linted(loaded, store)
    n_errors = sum(item.severity == "error" for item in results)
    if as_json:
        print_json(list(map(asdict, results)))
    else:
        for item in results[:_MOST_SHOWN]:
            where = f"{item.place}  {one_line(item.case)}: " if item.case else ""
            click.echo(f"{item.severity:<7}  {where}{one_line(item.message)} ({item.fix})")
        if len(results) > _MOST_SHOWN:
            click.echo(f"and {len(results) - _MOST_SHOWN:,} more: --json lists them")
        click.echo(
            f"{counted(len(results), 'finding')} in {counted(loaded.survey.n, 'case')}, {n_errors:,} of them errors"
        )
    sys.exit(n_errors > 0)


def _assigned(text: str) -> tuple[str, Any]:
    """A path and a value out of `path=value`."""
    from steelyard.suite.readers import decode

    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise click.BadParameter(f"{text!r} is no PATH=VALUE, such as expected.maker=Thonet")
    with suppress(ValueError):
        return path.strip(), decode(value)
    return path.strip(), value


def _reason(line: LedgerLine) -> str:
    from steelyard.report.format import one_line

    return f"{one_line(line.reason)} ({one_line(line.by)}, {line.at[:10]})"


@truth_command.command("log")
@click.argument("suite", metavar="SUITE")
@as_json
def log(suite: str, as_json: bool) -> None:
    """List the ledger of SUITE, newest first: who edited what, and why."""
    from steelyard.cli.output import print_json
    from steelyard.suite.load import load_suite
    from steelyard.suite.truth import LEDGER_FILE, newest_first

    loaded = load_suite(suite)
    lines = newest_first(loaded.ledger)
    if as_json:
        print_json([line.as_data() for line in lines])
    elif not lines:
        click.echo(f"there is no {LEDGER_FILE} yet: steelyard truth note {suite} --reason TEXT writes its first lines")
    else:
        numbers = {id(line): number for number, line in enumerate(loaded.ledger, 1)}
        for line in lines:
            click.echo(f"#{numbers[id(line)]}  {_message(line)}")
        if text := _accepted_text(loaded):
            click.echo(text.removeprefix("; "))


@truth_command.command("check")
@click.argument("suite", metavar="SUITE")
@_SINCE
@store_url
@as_json
def check(suite: str, since: str | None, store_url: str | None, as_json: bool) -> None:
    """List edits of truth and scorers since a run, with reasons.

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
@click.option("--reason", metavar="TEXT", required=True, help="Why it was edited; stored in the ledger keeps it.")
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
    from steelyard.report.format import counted
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
    still = f"; {counted(left, 'edit')} without a reason {'is' if left == 1 else 'are'} left" if left else ""
    click.echo(f"{counted(len(lines), 'edit')} noted in {_from_here(loaded.folder / LEDGER_FILE)}{still}")


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
    from steelyard.report.format import counted

    run = changes.since.id
    if changes.partial:
        message = f"run {run} covers only a part of the cases : cannot tell which others were edited or added since"
        click.echo(f"note: {message}", err=True)
    if not changes.edits:
        click.echo(f"truth and scorers are as they were in run {run}")
        return
    for edit in changes.edits:
        click.echo(f"{edit.kind:<7}  {_named(edit.what, edit.case)}: {_why(edit)}")
    without = len(changes.without_reason)
    message = f"{without:,} of them without a reason" if without else "each with its reason"
    click.echo(f"{counted(len(changes.edits), 'edit')} since run {run}, {message}")
    if without:
        click.echo(f'  steelyard truth note {suite} --reason "..." says why')


def _why(edit: Edit) -> str:
    line = edit.line
    return "no reason yet" if line is None else _reason(line)


def _named(what: str, case: str | None) -> str:
    from steelyard.report.format import one_line
    from steelyard.suite.truth import NAMES

    return NAMES[what] if case is None else one_line(case)


def _message(line: LedgerLine) -> str:
    from steelyard.report.format import one_line
    from steelyard.suite.truth import kind_of

    kind = line.suggestion.outcome if line.suggestion else kind_of(line.before, line.after)
    what = f"{kind:<7}  {_named(line.what, line.case)}"
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

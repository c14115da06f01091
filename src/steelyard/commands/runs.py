"""Commands on stored runs: runs (list, delete, prune), show, gate."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import against, allow_mismatch, as_json, completed, run_name, store_url
from steelyard.cli.output import confirm, console, print_document, print_json, show
from steelyard.errors import SteelyardError, UsageError
from steelyard.records import RunState
from steelyard.report.format import counted, laid_out, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.decide.provenance import DeletedRuns
    from steelyard.engine.plan import RunOptions
    from steelyard.records import RunHeader
    from steelyard.stats.intervals import Estimate
    from steelyard.store.base import Store
    from steelyard.store.deletion import Deletion
    from steelyard.store.excerpt import Repeat
    from steelyard.store.sql import SqlStore
    from steelyard.suite.models import SuiteModel


# `steelyard show`.

_SHOWN, _WHOLE = 20_000, 5_000_000
"""Characters of an answer that are read, by default and with --full or --json."""
_MOST_REPEATS = 10_000
_MOST_NAMES = 5


@click.command("show")
@click.argument("run", metavar="RUN", shell_complete=completed("runs"))
@click.argument("case", metavar="CASE")
@click.option("--repeat", metavar="N", type=click.IntRange(min=1), help="Which repeat, from 1. [default: the first]")
@click.option("--variant", metavar="NAME", help="Which variant. [default: the first]")
@click.option("--full", is_flag=True, help="Show request, expected and answer whole.")
@store_url
@as_json
def show_command(
    run: str, case: str, repeat: int | None, variant: str | None, full: bool, store_url: str | None, as_json: bool
) -> None:
    """Show one sample: request, answer, expected and got, scores, findings, judge.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, a baseline (@release), or a snapshot file
    (.json). CASE is the id of a case, or the name of a sample as reports print it: 'lookup-2 #1', 'lookup-2 [v] #1'.
    """
    from steelyard.report.build import shown_sample
    from steelyard.results.find import FoundRuns
    from steelyard.targets.stored_request import request_again

    with ExitStack() as opened:
        store, name = FoundRuns(store_url, opened).find(run)
        header = store.run(name)
        samples = []
        for name, variant_named, repeat_named in _readings(case):
            samples = store.repeats(header.id, name, limit=_MOST_REPEATS)
            if samples:
                case, variant, repeat = name, variant or variant_named, repeat or repeat_named
                break
        if not samples:
            raise UsageError(_no_case(store, header, case))
        place = _chosen(samples, header, case, variant, repeat).position
        most = _WHOLE if full or as_json else _SHOWN
        excerpt = store.excerpts(header.id, [place], most=most)[place]
    shown = shown_sample(header, excerpt, request_again(header, excerpt.sample, excerpt.case))
    if as_json:
        print_json(shown.data() | {"repeats": samples})
        return
    document = shown.document(full=full)
    others = [f"1 of {len(samples)} samples of the case: --repeat and --variant show others"] if samples[1:] else []
    print_document(replace(document, last=others))


def _readings(name: str) -> Iterator[tuple[str, str | None, int | None]]:
    """What a name may stand for: the id of a case, or `id [variant] #2` as reports print it, with or without spaces."""
    yield name, None, None
    printed = re.fullmatch(r"(.+?)\s*#([1-9]\d*)", name, re.DOTALL)
    of_case, repeat = (printed[1], int(printed[2])) if printed else (name, None)
    if printed:
        yield of_case, None, repeat
    for bracket in re.finditer(r"\s*\[", of_case) if of_case.endswith("]") else ():
        yield of_case[: bracket.start()], of_case[bracket.end() : -1], repeat


def _chosen(samples: list[Repeat], header: RunHeader, case: str, variant: str | None, repeat: int | None) -> Repeat:
    """The sample that was asked for; UsageError with what there is when there is none."""
    for item in samples:
        if variant in (None, item.variant) and repeat in (None, item.repeat + 1):
            return item
    variants = ", ".join(dict.fromkeys(item.variant for item in samples if item.variant)) or "no variants"
    there = f"repeats {min(item.repeat for item in samples) + 1} to {max(item.repeat for item in samples) + 1}"
    raise UsageError(f"run {header.id} has no such sample of case {case}: it has {there}, {variants}")


def _no_case(store: SqlStore, header: RunHeader, case: str) -> str:
    """That a run has no sample of a case, with the ids that are nearest to it."""
    ids = list(store.columns(header.id).case_ids)
    parts = [name for name in ids if case.lower() in name.lower()]
    near = list(dict.fromkeys([*difflib.get_close_matches(case, ids, n=_MOST_NAMES), *parts]))[:_MOST_NAMES]
    hint = f"did you mean {', '.join(near)}?" if near else f"its cases are named as {', '.join(ids[:_MOST_NAMES])}"
    if not ids:
        hint = "it has no samples yet"
    return f"run {header.id} has no sample of a case {case!r}: {hint}"


# `steelyard run --dry-run`.

_FIRST_CASES = 3


def show_requests(suite: SuiteModel, options: RunOptions, *, as_json: bool) -> None:
    """Print the requests of the first cases as they would be sent; nothing is sent, started or stored."""
    from steelyard.engine.plan import Plan
    from steelyard.report import document as doc
    from steelyard.suite.case import cell_name
    from steelyard.targets.base import TargetContext
    from steelyard.targets.stored_request import asked_by, requests_by

    plan, schema = Plan(suite, options.selection, options.repeats or suite.repeats), suite.answer.schema_data
    stored = asked_by(suite.target, plan.variants, TargetContext(suite.folder, schema))
    request_of = requests_by(suite.target.kind, stored, suite.folder, schema)
    first = [case.id for case in islice(plan.cases(), options.selection.limit or _FIRST_CASES)]
    rows: list[dict[str, Any]] = []
    for planned in plan.asks():
        if planned.case.id not in first:
            break
        if planned.ask.repeat:
            continue
        row = {"case": planned.case.id, "variant": planned.ask.variant.name, "input": planned.case.input}
        row |= {"request": None, "problem": None}
        try:
            row["request"] = request_of(planned.ask)
        except SteelyardError as error:
            row["problem"] = str(error)
        rows.append(row)
    if as_json:
        print_json({"suite": suite.name, "target": suite.target.kind, "planned": plan.n, "requests": rows})
    else:
        blocks: list[doc.Block] = []
        for row in rows:
            title = cell_name(row["case"], row["variant"])
            none = f"no request is known of a {suite.target.kind} target; the input:\n{laid_out(row['input'])}"
            text = row["problem"] or (none if row["request"] is None else laid_out(row["request"]))
            blocks.append(doc.Quote(title, text))
        n = counted(plan.n, "sample")
        context = (
            f"dry run: {len(first):,} of {counted(suite.survey.n, 'case')}",
            f"{n} would be asked",
            "nothing sent",
        )
        print_document(doc.Document(suite.name, blocks, context=context))
    if broken := [row["problem"] for row in rows if row["problem"]]:
        raise UsageError(f"{len(broken):,} of {len(rows):,} requests cannot be made: {broken[0]}")


# `steelyard run --pending`.


def show_pending(store: Store, header: RunHeader, *, as_json: bool) -> None:
    """Print what the target answered to cases whose truth is pending, and how their truth is found."""
    suite, rows = header.description.pending_of, list[dict[str, Any]]()
    for sample, _ in store.samples(header.id):
        failure = sample.call_result.failure
        rows.append({"case": sample.case_id, "variant": sample.variant, "repeat": sample.repeat})
        rows[-1] |= {"answer": sample.call_result.text, "failure": failure and failure.kind}
    if as_json:
        print_json({"run": header.id, "suite": suite, "pending": True, "answers": rows})
        return
    answered = sum(row["answer"] is not None for row in rows)
    what = f"{counted(len(rows), 'sample')} of pending cases, {answered:,} answered; nothing is scored"
    click.echo(f"{suite} | run {header.id}\n{what}\nAsk people, then decide on what they and the systems agree on:")
    n = len({row["case"] for row in rows})
    click.echo(f"  steelyard label plan {header.id} --random {n} --per-item 3")
    click.echo(f"  steelyard truth suggest {header.suite_path}")


# `steelyard runs`.

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
    from steelyard.decide.provenance import deletions
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


# `steelyard gate`.


@click.command("gate")
@run_name
@click.option(
    "--gate",
    "gates",
    metavar="GATE",
    multiple=True,
    help="Check this gate instead of the suite's, such as 'pass_rate >= 90 %'. May be given more than once.",
)
@click.option("--without-contested", is_flag=True, help="Leave out cases whose truth experts contest; it says which.")
@against
@allow_mismatch
@store_url
@as_json
def gate_command(
    run: str,
    gates: tuple[str, ...],
    without_contested: bool,
    against: str | None,
    allow_mismatch: bool,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Check a run's gates; the exit code is the verdict.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, a baseline (@release), or a snapshot file
    (.json). Gates on a baseline are compared with what it stands for now.
    """
    from steelyard.results.gates import gate

    options: dict[str, Any] = {"allow_mismatch": allow_mismatch, "without_contested": without_contested}
    sys.exit(show(gate(run, gates=gates, against=against, store=store_url, **options), as_json=as_json))

"""The command run; the requests of a dry run, and the answers to cases whose truth is pending."""

from __future__ import annotations

import contextlib
import sys
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.grouped_help import GroupedCommand
from steelyard.cli.options import (
    FILE,
    Finite,
    JudgeChoice,
    against,
    allow_mismatch,
    as_json,
    chosen_settings,
    completed,
    concurrency,
    judge_options,
    limit,
    max_inconclusive,
    on_workers,
    only,
    quiet,
    read_rate,
    read_time,
    refuse_quiet_and_verbose,
    store_url,
    target_options,
    verbose,
)
from steelyard.cli.output import (
    print_document,
    print_estimate,
    print_json,
)
from steelyard.commands.ending import end_with
from steelyard.errors import SteelyardError, UsageError
from steelyard.records import DrawnSample
from steelyard.report.format import counted, laid_out
from steelyard.results.find import reference_of

if TYPE_CHECKING:
    from steelyard.decide.baselines import Reference
    from steelyard.engine.run_options import RunOptions
    from steelyard.loading.alerts import AlertSettings
    from steelyard.records import RunHeader
    from steelyard.runner.run import Result
    from steelyard.store.base import Store
    from steelyard.store.sql import SqlStore
    from steelyard.suite.models import SuiteModel


COMMON = (
    *("target", "model", "only", "limit", "repeats", "concurrency", "max_cost", "against", "resume", "estimate"),
    *("dry_run", "store_url", "as_json"),
)
"""What most runs need; `--help` shows these."""
GROUPS = {
    "What is scored": ("cases", "answers", "repeats", "only", "limit", "sample", "by", "seed", "strict", "pending"),
    "The system": ("target", "model", "base_url", "settings"),
    "The judge": ("judge", "judge_model", "judge_token", "judge_temperature", "judge_repeats", "anchors"),
    "Calls": (
        *("concurrency", "timeout", "retries", "outage", "keep_going", "rps", "rate"),
        *("warm_up", "cache", "max_cost", "max_inconclusive", "on", "workers"),
    ),
    "The run and its verdict": (
        *("resume", "retry_failed", "save", "against", "allow_mismatch", "no_alerts", "estimate", "dry_run"),
        *("fail_on", "junit", "markdown", "html", "github"),
    ),
    "Output": ("quiet", "verbose", "store_url", "as_json"),
}


@click.command("run", cls=GroupedCommand, common=COMMON, groups=GROUPS)
@click.argument("suite", metavar="SUITE", shell_complete=completed("suites"))
@click.option(
    "--cases",
    metavar="PLACE",
    help="Score the cases of this folder, file or address instead of the suite's own.",
)
@target_options
@click.option(
    "--answers", metavar="FILE", help="Score the recorded answers of this file or address; the system is not asked."
)
@judge_options
@click.option("-n", "--repeats", metavar="N", type=click.IntRange(min=1), help="Repeats of each case.")
@only
@click.option("--sample", metavar="N", type=click.IntRange(min=1), help="Run a random sample of N cases, by --seed.")
@click.option(
    "--by",
    metavar="FIELD",
    help="With --sample: in proportion by category, difficulty, tag or a field such as input.language.",
)
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="With --sample: which one. [default: 0]")
@limit
@click.option("--strict", is_flag=True, help="Score by the strict rule of every scorer that has one.")
@concurrency
@click.option("--timeout", metavar="SECONDS", type=Finite(min=0, min_open=True), help="Time for one call.")
@click.option("--retries", metavar="N", type=click.IntRange(min=0), help="How often a failed call is made again.")
@click.option(
    "--outage",
    metavar="TIME",
    callback=read_time,
    help="How long to wait for a system that stopped answering: 5m, 90s; 0: do not wait. [default: the suite's, 5m]",
)
@click.option(
    "--keep-going", is_flag=True, help="Make all calls, also when the first all fail for good (401, refused)."
)
@click.option("--rps", metavar="N", type=Finite(min=0, min_open=True), help="Requests a second, at most.")
@click.option(
    "--rate",
    metavar="N/s",
    callback=read_rate,
    help="Open load: calls a second that are sent whether or not earlier ones were answered.",
)
@click.option(
    "--warm-up",
    metavar="N",
    type=click.IntRange(min=0),
    help="Unmeasured calls before the run; their answers are dropped.",
)
@click.option(
    "--max-cost",
    metavar="AMOUNT",
    type=Finite(min=0, min_open=True),
    help="Stop before spending more than this.",
)
@max_inconclusive
@click.option(
    "--no-anchors",
    "anchors",
    is_flag=True,
    callback=lambda _, __, given: 0 if given else None,
    help="Do not judge answers of the baseline again; drift of the judge is not measured.",
)
@click.option("--cache", is_flag=True, help="Cache answers, and reuse cached ones for the same request.")
@click.option(
    "--resume",
    metavar="RUN",
    is_flag=False,
    flag_value="",
    default=None,
    help="Resume an unfinished run: its name, or nothing for the suite's newest.",
)
@click.option(
    "--retry-failed",
    metavar="RUN",
    help="Start a new run that repeats the failed samples of RUN and copies the others.",
)
@click.option("--save", metavar="FILE", type=FILE, help="Write the run as a snapshot, too.")
@click.option("--pending", is_flag=True, help="Ask for the cases whose truth is pending alone; nothing is scored.")
@against
@allow_mismatch
@click.option("--no-alerts", is_flag=True, help="Raise, close and send no alerts.")
@click.option("--estimate", is_flag=True, help="Print what the run would take and cost, and make no call.")
@on_workers
@click.option("--dry-run", is_flag=True, help="Show the requests of the first cases (3, or --limit); send nothing.")
@quiet
@verbose
@store_url
@as_json
def run_command(
    save: Path | None,
    against: str | None,
    allow_mismatch: bool,
    no_alerts: bool,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    estimate: bool,
    store_url: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Run a suite's target and store every answer.

    SUITE is a suite file, its folder, a Python file that defines `suite`, or the name of a built-in suite.
    The exit code is the verdict of the suite's gates and, with --against, of what became of the baseline's figures.
    """
    from steelyard.store.sql import open_store

    refuse_quiet_and_verbose(quiet=quiet, verbose=verbose)
    suite, options = asked_for(**asked)
    if dry_run:
        from steelyard.commands.run_command import show_requests

        show_requests(suite, options, as_json=as_json)
        return
    if estimate:
        print_estimate(suite, options, store_url, as_json=as_json)
        return
    alerts = None if no_alerts else alerts_before_run(suite)
    with ExitStack() as closing:
        is_new = options.resume is None and options.retry_failed is None
        store = closing.enter_context(open_store(store_url, create=is_new))
        # Found before anything is asked: a name that is none must not cost a run, and LAST is the one before this.
        reference = reference_of(store, against, suite.name, closing)
        result = evaluate(
            suite, store, options, reference, allow_mismatch=allow_mismatch, save=save, quiet=quiet, verbose=verbose
        )
        if suite.pending_of and result.stopped is None:
            from steelyard.commands.run_command import show_pending

            show_pending(store, result.header, as_json=as_json)
            return
        code = end_with(
            store,
            result,
            as_json=as_json,
            quiet=quiet,
            reference=reference,
            allow_mismatch=allow_mismatch,
        )
        # Whoever stopped the run is there, and need not be told.
        if alerts is not None and not result.interrupted:
            from steelyard.alerts.after_run import alert_after_run

            alert_after_run(store, result.header, alerts)
    sys.exit(code)


def asked_for(
    *,
    suite: str,
    cases: str | None,
    target: str | None,
    model: str | None,
    base_url: str | None,
    settings: tuple[str, ...],
    answers: str | None,
    judge: str | None,
    judge_model: str | None,
    judge_token: str | None,
    judge_temperature: float | None,
    judge_repeats: int | None,
    only: tuple[str, ...],
    sample: int | None,
    by: str | None,
    seed: int | None,
    limit: int | None,
    rps: float | None,
    pending: bool = False,
    **others: Any,
) -> tuple[SuiteModel, RunOptions]:
    """The suite with the target and the judge that were asked for, and how to run it; SuiteError as it stands."""
    from steelyard.engine.run_options import RunOptions, Selection, parse_only
    from steelyard.loading.load import load_suite, pending_suite, with_answers, with_target

    if sample is None and (by is not None or seed is not None):
        raise UsageError(f"{'--by' if by is not None else '--seed'} says how a sample is drawn: give --sample N, too")
    drawn = None if sample is None else DrawnSample(sample, by or "", seed or 0)
    options = RunOptions(selection=Selection(parse_only(only), limit, drawn), requests_per_second=rps, **others)
    loaded = load_suite(suite, cases)
    chosen = chosen_settings(model, base_url, settings)
    if answers is not None and (target is not None or chosen):
        raise UsageError("--answers takes the place of the target: leave out --target, --model, --base-url and --set")
    if answers is not None:
        loaded = with_answers(loaded, answers)
    elif target is not None or chosen:
        loaded = with_target(loaded, target, chosen)
    if pending:
        return pending_suite(loaded), options
    return JudgeChoice(judge, judge_model, judge_token, judge_repeats, judge_temperature).of(loaded), options


def evaluate(
    suite: SuiteModel,
    store: SqlStore,
    options: RunOptions,
    reference: Reference | None,
    *,
    allow_mismatch: bool,
    save: Path | None,
    quiet: bool = False,
    verbose: bool = False,
) -> Result:
    """Run the suite with progress on standard error unless `quiet`, and write the snapshot that was asked for."""
    from steelyard.engine.writer import progress_of
    from steelyard.runner import run

    # Whatever the system under test prints must not get into the report.
    shown = progress_of(suite.name, quiet=quiet, verbose=verbose)
    with shown as progress, contextlib.redirect_stdout(sys.stderr):
        result = run.run(suite, store, options, progress, reference=reference, allow_mismatch=allow_mismatch)
    if save is not None:
        from steelyard.store.snapshot import write_snapshot

        write_snapshot(store, result.header.id, save)
    return result


def alerts_before_run(suite: SuiteModel) -> AlertSettings | None:
    """What is to be told after the run; None when nothing is. Says what is wrong with its rules and channels."""
    from steelyard.loading.load import alerts_of

    settings = alerts_of(suite, Path.cwd())
    if settings is not None:
        from steelyard.alerts.after_run import note_limits  # few suites have rules

        note_limits(settings, suite)
    return settings


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

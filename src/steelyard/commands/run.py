"""The commands run, rescore and report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.attribution_options import ExplainOptions, explain_options
from steelyard.cli.ending import end_with
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
    run_name,
    store_url,
    target_options,
    verbose,
)
from steelyard.cli.output import (
    confirm,
    print_document,
    print_estimate,
    print_json,
    print_on_one_screen,
    report_written,
    write_document,
)
from steelyard.errors import SuiteError, UsageError
from steelyard.records import DrawnSample
from steelyard.results.find import FoundRuns, reference_of

if TYPE_CHECKING:
    from steelyard.decide.baselines import Reference
    from steelyard.engine.plan import RunOptions
    from steelyard.loading.alerts import AlertSettings
    from steelyard.records import RunHeader
    from steelyard.report.model import Report
    from steelyard.runner.run import Result
    from steelyard.store.base import Store
    from steelyard.store.sql import SqlStore
    from steelyard.suite.judge import JudgeModel
    from steelyard.suite.models import SuiteModel


# What asking a judge about recorded answers would take, and whether somebody agrees to it.


def agree_to_cost(suite: SuiteModel, store: Store, earlier: RunHeader, *, yes: bool) -> None:
    """Tell what judging the answers of a run takes, and go on when somebody says yes.

    UsageError without a terminal and without `yes`. Judges that are code cost nothing, and nobody is asked.
    """
    from steelyard.judging.cost_estimate import estimate_cost
    from steelyard.scoring.model_scorers import models_asked
    from steelyard.suite.prices import read_prices

    judge, models = suite.judge, sorted({model.model for model in models_asked(suite.computed)})
    if judge is None and not models:
        raise UsageError(f"the suite {suite.name} has no judge: rescore without --judge-again")
    if judge is not None and any(member.kind != "python" for member in judge.members):
        estimate = estimate_cost(judge, _prompt_lengths(suite, judge, store, earlier), read_prices(suite.folder))
        click.echo(f"Judging the answers of run {earlier.id} again takes: {estimate}", err=True)
    elif not models:
        click.echo("The judge is code: no model is asked.", err=True)
        return
    if models:
        click.echo(f"Embeddings of {earlier.n_planned:,} answers are asked for again: {', '.join(models)}", err=True)
    confirm("Go on?", yes=yes)


def _prompt_lengths(suite: SuiteModel, judge: JudgeModel, store: Store, earlier: RunHeader) -> Iterator[int]:
    from steelyard.judging.cost_estimate import prompt_characters
    from steelyard.scoring.evaluate import Evaluator

    evaluator = Evaluator(suite)
    for sample, case in store.samples(earlier.id):
        if sample.call_result.failure is not None:
            continue
        try:
            scored = evaluator.evaluate(
                sample.call_result.text or "", case, sample.call_result.status, cut_off=sample.call_result.cut_off
            )
        except SuiteError:
            raise
        except Exception:  # noqa: BLE001, S112 - a scorer that breaks makes the sample inconclusive: no judge is asked
            continue
        if scored.to_judge is not None:
            yield prompt_characters(judge, scored.to_judge, case, scored.metrics, scored.findings)


# `steelyard run`.


@click.command("run")
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
        from steelyard.commands.runs import show_requests

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
            from steelyard.commands.runs import show_pending

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
    from steelyard.engine.plan import RunOptions, Selection, parse_only
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


# `steelyard report`.

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FOREIGN = "name the suite that reads it: --suite SUITE"


@click.command("report")
@run_name
@click.option("--markdown", metavar="FILE", type=FILE, help="Write Markdown, for a pull request.")
@click.option("--junit", metavar="FILE", type=FILE, help="Write JUnit XML, for a CI server.")
@click.option("--html", metavar="FILE", type=FILE, help="Write one self-contained HTML file.")
@click.option("--charts", metavar="DIR", type=_FOLDER, help="Write every chart as a PNG picture into this folder.")
@click.option("--suite", metavar="SUITE", help="RUN is a results file in this suite's own format.")
@click.option("--full", is_flag=True, help="Print everything, not only what fits one screen.")
@explain_options
@store_url
@as_json
def report_command(
    run: str,
    markdown: Path | None,
    junit: Path | None,
    html: Path | None,
    charts: Path | None,
    suite: str | None,
    full: bool,
    explain: str | None,
    limit: int | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Show a run, or write it as Markdown, JUnit, HTML, JSON or charts.

    RUN is a run's name, the beginning of it, LAST, LAST~1 for the one before, or a baseline (@release); or a snapshot
    file (.json) or, with --suite, a results file in that suite's own format, which are not put into the store. Always
    ends with exit code 0 when the report could be made: the verdict's exit code is that of `steelyard gate`.
    """
    from steelyard.report import run as views
    from steelyard.report.build import build_report

    explaining = ExplainOptions(explain, limit)
    explaining.refuse_beside(markdown=markdown, junit=junit, html=html, charts=charts)
    with ExitStack() as closing:
        store, name = FoundRuns(store_url, closing, hint=_FOREIGN, suite=suite).find(run)
        if explaining.metric is not None:
            explaining.reported(store, store.run(name), as_json=as_json)
            return
        more = as_json or full or charts is not None or any((markdown, junit, html))
        report = build_report(store, store.run(name), brief=not more)
    written = _files(report, markdown, junit, html)
    written += _charts(report, charts) if charts is not None else []
    if as_json:
        print_json(views.data(report))
        return
    if full:
        print_document(views.document(report))
    elif not written and charts is None:
        print_on_one_screen(report)
    report_written(*written)


def _files(report: Report, markdown: Path | None, junit: Path | None, html: Path | None) -> list[Path]:
    """Write the report in each form that was asked for; the document is made once."""
    from steelyard.report.render.json import write_text
    from steelyard.report.run import document

    page = document(report) if markdown is not None or html is not None else None
    if page is not None:
        write_document(page, markdown, html)
    if junit is not None:
        from steelyard.report.render.junit import to_junit

        write_text(junit, to_junit(report))
    return [path for path in (markdown, junit, html) if path is not None]


def _charts(report: Report, folder: Path) -> list[Path]:
    """Write the charts; when there are none, say why."""
    from steelyard.report.charts import CHARTS, charts_of
    from steelyard.report.charts.base import write_charts

    result = charts_of(report.summary, report.header)
    if not result:
        click.echo("no chart: this run has no checks, no compared repeats and no answered call", err=True)
    return write_charts(result, folder, stale=CHARTS)


# `steelyard rescore`.


@click.command("rescore")
@run_name
@click.option("--suite", metavar="SUITE", help="Score by this suite. [default: the one of the run's suite name]")
@only
@click.option("--strict", is_flag=True, help="Score by the strict rule of every scorer that has one.")
@click.option("--judge-again", is_flag=True, help="Judge the recorded answers again; estimates the cost first.")
@click.option("--yes", is_flag=True, help="With --judge-again: do not ask for confirmation.")
@judge_options
@max_inconclusive
@on_workers
@quiet
@store_url
@as_json
def rescore_command(
    run: str,
    suite: str | None,
    only: tuple[str, ...],
    strict: bool,
    judge_again: bool,
    yes: bool,
    judge: str | None,
    judge_model: str | None,
    judge_token: str | None,
    judge_temperature: float | None,
    judge_repeats: int | None,
    max_inconclusive: float | None,
    on: str | None,
    workers: int | None,
    quiet: bool,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Score recorded answers again; no call is made.

    Takes the suite as it is now, with its scorers, weights and truth, and writes a new run. Answers to questions
    that have changed since are left out and counted as missing. What a judge said is read again by the rules of now; it
    is asked anew with --judge-again only.
    """
    from steelyard.engine.plan import RunOptions, Selection, parse_only
    from steelyard.loading.chosen_judge import judged_as_then
    from steelyard.loading.load import suite_of_run
    from steelyard.results.operations import refuse_imported
    from steelyard.store.sql import open_store

    choice = JudgeChoice(judge, judge_model, judge_token, judge_repeats, judge_temperature)
    _refuse_what_does_nothing(choice, judge_again=judge_again, strict=strict)
    with open_store(store_url, create=False) as store:
        header = store.run(run)
        refuse_imported(header)
        loaded = suite_of_run(header, suite)
        # The run's own judge, unless another is named.
        then = header.description.judge
        loaded = choice.of(loaded) if choice.given else judged_as_then(loaded, then, to_ask=judge_again)
        part = Selection(parse_only(only))
        options = RunOptions(part, max_inconclusive=max_inconclusive, strict=strict, on=on, workers=workers)
        if judge_again:
            shown = {"as_json": as_json, "quiet": quiet}
            code = _judged_again(store, header, loaded, choice, options, yes=yes, store_url=store_url, **shown)
        else:
            code = _rescored(store, header, loaded, options, as_json=as_json, quiet=quiet)
    sys.exit(code)


def _refuse_what_does_nothing(choice: JudgeChoice, *, judge_again: bool, strict: bool) -> None:
    if choice.given and not judge_again:
        raise UsageError(f"{choice.given[0]}: recorded answers of the judge are read; add --judge-again to ask another")
    if strict and judge_again:
        raise UsageError("--strict and --judge-again do not go together: judge again, then rescore that run --strict")


def _rescored(
    store: Store, header: RunHeader, suite: SuiteModel, options: RunOptions, *, as_json: bool, quiet: bool
) -> int:
    from steelyard.engine.writer import progress_of
    from steelyard.runner import run as evaluation

    with progress_of(f"rescoring {header.id}", quiet=as_json or quiet) as progress:
        result = evaluation.rescore(suite, store, header, options, progress)
    return end_with(store, result, as_json=as_json, quiet=quiet)


def _judged_again(
    store: Store,
    header: RunHeader,
    suite: SuiteModel,
    choice: JudgeChoice,
    options: RunOptions,
    *,
    yes: bool,
    as_json: bool,
    quiet: bool,
    store_url: str | None,
) -> int:
    from steelyard.engine.writer import progress_of
    from steelyard.runner import run as evaluation

    agree_to_cost(suite, store, header, yes=yes)
    with progress_of(f"judging {header.id} again", quiet=as_json or quiet) as progress:
        result = evaluation.judge_again(suite, store, header, options, progress)
    stored = [] if store_url is None else ["--store", store_url]
    go_on = ["steelyard", "run", suite.path, *choice.given, *stored, "--resume", result.header.id]
    return end_with(store, result, as_json=as_json, quiet=quiet, go_on=go_on)


def alerts_before_run(suite: SuiteModel) -> AlertSettings | None:
    """What is to be told after the run; None when nothing is. Says what is wrong with its rules and channels."""
    from steelyard.loading.load import alerts_of

    settings = alerts_of(suite, Path.cwd())
    if settings is not None:
        from steelyard.alerts.after_run import note_limits  # few suites have rules

        note_limits(settings, suite)
    return settings

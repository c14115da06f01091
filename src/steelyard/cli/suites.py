"""Commands on suites: audit, init, power, schema, suites."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import as_json, read_points, store_url

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.audit.audit import AuditResult, ProbeResult
    from steelyard.audit.judge import InjectionResult


# `steelyard audit`.


@click.command("audit")
@click.argument("suite", metavar="SUITE")
@as_json
def audit_command(suite: str, as_json: bool) -> None:
    """Test the suite: what score do answers that know nothing get?

    Scores probes instead of answers, by the suite's rules and by the strict ones. Of a judged suite, texts that talk
    to their judge are tried on a judge that obeys them. Exit code 1 when a probe earns too much, when the truth does
    not earn full marks, when a rule or check of the judge does not hold, when a gate cannot fail, or can never be
    decided, when a case is asked twice, has two truths or stands in a prompt, or when the question tells its truth; 4
    when a probe could not be read, so that nobody knows what it would earn.
    """
    from steelyard.audit.audit import audit
    from steelyard.cli.output import print_json
    from steelyard.records import Verdict
    from steelyard.report.verdicts import exit_code
    from steelyard.suite.load import load_suite

    result = audit(load_suite(suite))
    if as_json:
        passes = result.verdict is Verdict.PASS
        print_json(asdict(result) | {"verdict": result.verdict.value, "passes": passes})
    else:
        _print(result)
    sys.exit(exit_code(result.verdict))


def _print(result: AuditResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from steelyard.analysis.wording import percent
    from steelyard.audit.probes import TRUTH
    from steelyard.cli.output import console

    out = console()
    if result.n_audited < result.n_cases:
        out.print(f"Audited on {result.n_audited} of {result.n_cases} cases, drawn at random.")
    for rule in dict.fromkeys(probe.rule for probe in result.probes):
        title = f"{result.suite}, rules {rule}, n {result.n_audited}: share of full marks"
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        table.add_column("probe", no_wrap=True)
        table.add_column("what it answers")
        for name in ("average", "highest", "passes", "limit"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for probe in (probe for probe in result.probes if probe.rule == rule):
            n_read = probe.n - probe.n_malformed
            partly = f" (read in {n_read} of {probe.n})" if 0 < n_read < probe.n else ""
            table.add_row(
                Text(probe.probe),
                Text(probe.about + partly),
                "n/a" if probe.not_read else percent(probe.average),
                "n/a" if probe.not_read else percent(probe.highest),
                "n/a" if probe.not_read else str(len(probe.passed)),
                f"{'>=' if probe.kind == TRUTH else '<='} {probe.limit * 100:.3g} %",
                _word(probe),
            )
        out.print(table)
        out.print()
    if result.injections:
        _print_injections(result.injections, out)
    for problem in (*result.complaints, *result.not_read):
        out.print(Text(f"- {problem}"))
    for warning in result.warnings:
        out.print(Text(f"Warning: {warning}"))
    if result.complaints:
        out.print("AUDIT FAILED")
    elif result.not_read:
        out.print(
            "AUDIT AMBIGUOUS: the score of probes that could not be read is unknown. Name every field in the answer's"
            " schema, and give one with a pattern an example (examples: [...])."
        )
    else:
        _print_passed(result, out)


def _print_injections(injections: list[InjectionResult], out: Console) -> None:
    """What texts that talk to the judge come to when it obeys them."""
    from rich.table import Table
    from rich.text import Text

    from steelyard.analysis.wording import percent

    title = f"prompt injections and a judge that obeys them, n {injections[0].n}: most that one gets"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("call_result", no_wrap=True)
    table.add_column("what the text holds")
    table.add_column("unproven", justify="right", no_wrap=True)
    table.add_column("quoting it", justify="right", no_wrap=True)
    table.add_column("passes", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for injection in injections:
        figures = (percent(injection.highest), percent(injection.highest_with_quote), str(injection.n_passed))
        word = "ok" if injection.holds else "FAILS"
        table.add_row(
            Text(injection.name),
            Text(injection.about),
            *(figures if injection.n else ["n/a"] * 3),
            word if injection.n else "not read",
        )
    out.print(table)
    out.print("unproven: the judge gives no quote, or a made-up one. quoting it: it quotes the injection itself.")
    if any(injection.highest or injection.highest_with_quote for injection in injections):
        out.print(
            "ok: every rule and check of the suite passed. The figures are what a judge that gives full marks on"
            " request can still give: nothing else keeps such a text from passing."
        )
    out.print()


def _print_passed(result: AuditResult, out: Console) -> None:
    from rich.text import Text

    from steelyard.analysis.wording import percent
    from steelyard.audit.probes import CONSTANT, NULL

    most = max((probe for probe in result.probes if probe.kind == NULL), key=lambda probe: probe.average)
    if most.average:
        earned = f"{percent(most.average)} ({most.probe}, {most.rule})"
        out.print(f"Audit passed. An answer that says nothing earns at most {earned}.")
    else:
        out.print("Audit passed. An answer that says nothing earns nothing.")
    if constants := [probe for probe in result.probes if probe.kind == CONSTANT]:
        best = max(constants, key=lambda probe: probe.average)
        chance = "" if result.chance is None else f"; guessing earns {percent(result.chance)}"
        out.print(
            f"One answer for all cases earns at most {percent(best.average)} ({best.probe}, {best.rule}){chance}."
        )
    if any(probe.only_shown and probe.kind == NULL for probe in result.probes):
        out.print("shown: needs calls of a model; this is what rules and checks leave of full marks.")
    elif any(probe.only_shown for probe in result.probes):
        out.print("shown: the limit applies to the strict rule instead of the rule as written.")
    for probe in result.probes:
        if probe.only_shown and probe.average > probe.limit and probe.kind != NULL:
            earned = f"{percent(probe.average)} and passes {len(probe.passed)} of {probe.n} cases"
            out.print(Text(f"As written, {probe.about} earns {earned}: --strict closes that."))
    if any(probe.n_malformed == probe.n for probe in result.probes):
        out.print("malformed: the suite cannot parse such an answer; it scores 0.")


def _word(probe: ProbeResult) -> str:
    if probe.not_read:
        return "not read"
    if not probe.holds:
        return "FAILS"
    if probe.n_malformed == probe.n:
        return "malformed"
    return "shown" if probe.only_shown else "ok"


# `steelyard init`.

_FILES = ("suite.yaml", "cases.yaml", "system.py")


@click.command("init")
@click.argument("folder", metavar="[FOLDER]", default="my-suite", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--from",
    "results",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make it of another tool's results, with their answers recorded: no call is made.",
)
@as_json
def init_command(folder: Path, results: Path | None, as_json: bool) -> None:
    """Write a commented starter suite that runs at once.

    FOLDER is made if need be [default: my-suite]; files that are already there are never overwritten. --from takes what
    `steelyard import` reads, and chooses the scorer by what was expected.
    """
    from steelyard.cli.output import print_json

    names = _starter(folder) if results is None else _from_results(results, folder)
    if as_json:
        print_json({"folder": str(folder), "files": names})
        return
    click.echo(f"Written: {', '.join(str(folder / name) for name in names)}")
    click.echo(f"Try it:  steelyard run {folder}")


def _from_results(results: Path, folder: Path) -> list[str]:
    from steelyard.exchange.results import recognise
    from steelyard.exchange.suite_files import write_suite

    return write_suite(recognise(results), results, folder)


def _starter(folder: Path) -> list[str]:
    from importlib.resources import files

    from steelyard.errors import UsageError

    there = [name for name in _FILES if (folder / name).exists()]
    if there:
        raise UsageError(f"{folder} already has {', '.join(there)}: choose another folder, nothing was written")
    starter = files("steelyard.cli") / "starter"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (folder / name).write_bytes((starter / name).read_bytes())
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error
    return list(_FILES)


# `steelyard power`.


@click.command("power")
@click.argument("suite", metavar="SUITE")
@click.option(
    "--metric",
    type=click.Choice(["pass_rate", "average"]),
    help="Which figure. [default: pass_rate where the suite has a pass rule, else average]",
)
@click.option("--detect", metavar="POINTS", callback=read_points, help="Show what it takes to detect this change.")
@click.option(
    "--last",
    "most_runs",
    metavar="N",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Estimate the noise from the newest N runs.",
)
@store_url
@as_json
def power_command(
    suite: str, metric: str | None, detect: float | None, most_runs: int, store_url: str | None, as_json: bool
) -> None:
    """Show a suite's minimum detectable difference, and what a smaller one takes.

    That is how many cases or repeats. SUITE is the name of a suite with stored runs, or its file or folder. Nothing is
    run: the noise is that of the recorded runs, between cases, between repeats of a case and between runs.
    """
    from steelyard.analysis.power import recorded_power
    from steelyard.cli.options import stored_suite_name
    from steelyard.cli.output import print_document, print_json
    from steelyard.report import experiments
    from steelyard.store.sql import open_store

    store = open_store(store_url, create=False)
    try:
        result = recorded_power(store, stored_suite_name(store, suite), metric, detect, most_runs)
    finally:
        store.close()
    if as_json:
        print_json(experiments.power_data(result))
    else:
        print_document(experiments.power_document(result))


# `steelyard schema`.


@click.command("schema")
@as_json
def schema_command(as_json: bool) -> None:  # noqa: ARG001 - every command takes --json; this one prints nothing else
    """Print the JSON Schema of suite files, for editors.

    Save it and point your editor at it: the first line of a suite file may be
    "# yaml-language-server: $schema=suite.schema.json".
    """
    from steelyard.cli.output import print_json
    from steelyard.suite.json_schema import suite_schema

    print_json(suite_schema())


# `steelyard suites`.


@click.command("suites")
@as_json
def suites_command(as_json: bool) -> None:
    """List the built-in suites.

    Suites of installed plug-ins are listed, too. Run one by its name: steelyard run NAME.
    """
    from steelyard.cli.output import console, print_json
    from steelyard.suite.load import list_suites

    suites = list_suites()
    if as_json:
        print_json([{"name": suite.name, "about": suite.about, "cases": suite.n_cases} for suite in suites])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("suite", no_wrap=True)
    table.add_column("cases", justify="right")
    table.add_column("about")
    for suite in suites:
        table.add_row(suite.name, str(suite.n_cases), suite.about)
    console().print(table)

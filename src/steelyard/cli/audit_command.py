"""`steelyard audit`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from steelyard.cli.shared_options import as_json

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.audit.balance import AuditResult, ProbeResult
    from steelyard.audit.judged import InjectionResult


@click.command("audit")
@click.argument("suite", metavar="SUITE")
@as_json
def command(suite: str, as_json: bool) -> None:
    """Test the test: what do answers earn that know nothing?

    Scores probes instead of answers, by the suite's rules and by the strict ones. Of a judged suite, texts that talk
    to their judge are tried on a judge that obeys them. Exit code 1 when a probe earns too much, when the truth does
    not earn full marks, when a rule or check of the judge does not hold, when a gate cannot fail, or can never be
    decided, when a case is asked twice, has two truths or stands in a prompt, or when the question tells its truth; 4
    when a probe could not be read, so that nobody knows what it would earn.
    """
    from steelyard.audit.balance import audit
    from steelyard.cli.show import print_json
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

    from steelyard.audit.probes import TRUTH
    from steelyard.cli.show import console
    from steelyard.report.format import percent

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
        for probe in (one for one in result.probes if one.rule == rule):
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
            "AUDIT AMBIGUOUS: what was not read may earn anything. Name every field in the answer's schema, and give"
            " one with a pattern an example (examples: [...])."
        )
    else:
        _print_passed(result, out)


def _print_injections(injections: list[InjectionResult], out: Console) -> None:
    """What texts that talk to the judge come to when it obeys them."""
    from rich.table import Table
    from rich.text import Text

    from steelyard.report.format import percent

    title = f"texts that talk to their judge, and a judge that obeys, n {injections[0].n}: most that one gets"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("attempt", no_wrap=True)
    table.add_column("what the text holds")
    table.add_column("unproven", justify="right", no_wrap=True)
    table.add_column("quoting it", justify="right", no_wrap=True)
    table.add_column("passes", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for one in injections:
        figures = (percent(one.highest), percent(one.highest_with_quote), str(one.n_passed))
        word = "ok" if one.holds else "FAILS"
        table.add_row(
            Text(one.name), Text(one.about), *(figures if one.n else ["n/a"] * 3), word if one.n else "not read"
        )
    out.print(table)
    out.print("unproven: without a quote or with a made-up one. quoting it: with the attempt itself as its proof.")
    if any(one.highest or one.highest_with_quote for one in injections):
        out.print(
            "ok: every rule and check of the suite held. The figures are what they leave to a judge that gives full"
            " marks for the asking: nothing more stands between such a text and a pass."
        )
    out.print()


def _print_passed(result: AuditResult, out: Console) -> None:
    from rich.text import Text

    from steelyard.audit.probes import CONSTANT, NULL
    from steelyard.report.format import percent

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
        out.print("shown: a model would have to be asked; this is what rules and checks leave of full marks.")
    elif any(probe.only_shown for probe in result.probes):
        out.print("shown: the strict rule is held to this limit in place of the rule as written.")
    for probe in result.probes:
        if probe.only_shown and probe.average > probe.limit and probe.kind != NULL:
            earned = f"{percent(probe.average)} and passes {len(probe.passed)} of {probe.n} cases"
            out.print(Text(f"As written, {probe.about} earns {earned}: --strict closes that."))
    if any(probe.n_malformed == probe.n for probe in result.probes):
        out.print("malformed: such an answer is in no shape that the suite reads, and earns nothing.")


def _word(probe: ProbeResult) -> str:
    if probe.not_read:
        return "not read"
    if not probe.holds:
        return "FAILS"
    if probe.n_malformed == probe.n:
        return "malformed"
    return "shown" if probe.only_shown else "ok"

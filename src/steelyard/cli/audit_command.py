"""`steelyard audit`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from steelyard.cli.shared_options import as_json

if TYPE_CHECKING:
    from steelyard.audit.balance import AuditResult


@click.command("audit")
@click.argument("suite", metavar="SUITE")
@as_json
def command(suite: str, as_json: bool) -> None:
    """Test the test: what do answers earn that know nothing?

    Scores probes instead of answers, by the suite's rules and by the strict ones. Exit code 1 when one earns too much,
    when the truth does not earn full marks, or when a gate cannot fail.
    """
    from steelyard.audit.balance import audit
    from steelyard.cli.show import print_json
    from steelyard.suite.load import load_suite

    result = audit(load_suite(suite))
    if as_json:
        print_json(asdict(result) | {"passes": not result.complaints})
    else:
        _print(result)
    sys.exit(1 if result.complaints else 0)


def _print(result: AuditResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from steelyard.audit.probes import TRUTH
    from steelyard.cli.show import console

    out = console()
    if result.n_audited < result.n_cases:
        out.print(f"Audited on the first {result.n_audited} of {result.n_cases} cases.")
    for rule in dict.fromkeys(probe.rule for probe in result.probes):
        title = f"{result.suite}, rules {rule}, n {result.n_audited}: share of full marks"
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        table.add_column("probe", no_wrap=True)
        table.add_column("what it answers")
        for name in ("malformed", "average", "highest", "passes", "limit"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for probe in (one for one in result.probes if one.rule == rule):
            truth = probe.kind == TRUTH
            passes = probe.n - len(probe.passed) if truth else len(probe.passed)
            table.add_row(
                Text(probe.probe),
                Text(probe.about),
                str(probe.n_malformed),
                f"{probe.average:.1%}",
                f"{probe.highest:.1%}",
                str(passes),
                f"{'>=' if truth else '<='} {probe.limit:.0%}",
                "ok" if probe.holds else "FAILS",
            )
        out.print(table)
        out.print()
    for complaint in result.complaints:
        out.print(Text(f"- {complaint}"))
    out.print("AUDIT FAILED" if result.complaints else "Audit passed: what knows nothing earns (next to) nothing.")

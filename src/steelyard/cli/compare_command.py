"""`steelyard compare`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.attribution_options import AttributionOptions, attribution_options
from steelyard.cli.explain_options import ExplainOptions, explain_options
from steelyard.cli.found_run import FoundRuns
from steelyard.cli.shared_options import as_json, store_url

if TYPE_CHECKING:
    from steelyard.analysis.compare_model import Comparison

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOREIGN = "bring it in first: steelyard import {file} --suite SUITE"


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--anyway", is_flag=True, help="Give a verdict although the instrument or the truth is another.")
@click.option("--markdown", metavar="FILE", type=_FILE, help="Write the comparison as Markdown, too.")
@click.option("--html", metavar="FILE", type=_FILE, help="Write it as one self-contained HTML file, too.")
@attribution_options
@explain_options
@store_url
@as_json
def command(
    a: str,
    b: str,
    anyway: bool,
    markdown: Path | None,
    html: Path | None,
    suite: str | None,
    no_attribution: bool,
    rejudge: int | None,
    max_cost: float | None,
    yes: bool,
    explain: str | None,
    limit: int | None,
    store_url: str | None,
    as_json: bool,
) -> None:
    """Say what changed from one run to another, and how sure that is.

    A (before) and B (after) are runs (a name, the beginning of it, LAST, LAST~1), baselines (@release) or snapshot
    files (.json), which are not put into the store. Exit code 0 when B is better or the same, 1 when it is worse, 4
    when nobody can tell, 3 when a run is INVALID. When no sample of A can be compared with one of B, the figures of
    both runs are shown side by side, and nobody can tell.

    Says also why the headline number moved: other cases, missing readings, scorers, truth, judge or the system. A's
    recorded answers are weighed by B's suite for that, where the two instruments differ.
    """
    options = AttributionOptions(suite, no_attribution, rejudge, max_cost, yes)
    options.refuse_what_does_nothing()
    explaining = ExplainOptions(explain, limit)
    explaining.refuse_beside(markdown=markdown, html=html)
    if explaining.asks_why:
        explaining.refuse_beside(**{"no-attribution": no_attribution})
    else:
        explaining.refuse_beside(suite=suite, rejudge=rejudge)
    with ExitStack() as closing:
        runs = FoundRuns(store_url, closing, hint=_FOREIGN)
        if explaining.asks_why:
            traced = options.traced(runs.find(a), runs.find(b), store_url, closing, anyway=anyway)
            sys.exit(explaining.why(*traced, as_json=as_json))
        if explaining.metric is not None:
            sys.exit(explaining.compared(runs.find(a), runs.find(b), anyway=anyway, as_json=as_json))
        comparison = options.compared(runs.find(a), runs.find(b), store_url, closing, anyway=anyway)
    from steelyard.cli.show import show_document
    from steelyard.report.compare import data, document

    show_document(document(comparison), data(comparison), markdown, html, as_json=as_json)
    sys.exit(exit_code(comparison))


def exit_code(comparison: Comparison) -> int:
    """What the command ends with; an INVALID run is no reading, whatever was asked for."""
    from steelyard.records import Verdict
    from steelyard.report import verdicts

    invalid = Verdict.INVALID in (comparison.a.verdict, comparison.b.verdict)
    return verdicts.exit_code(Verdict.INVALID if invalid else comparison.headline.verdict)

"""The command compare."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.explain_options import ExplainOptions, explain_options
from steelyard.cli.options import FILE, Finite, as_json, store_url, together
from steelyard.cli.output import confirm, show
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.results.find import FoundRuns

if TYPE_CHECKING:
    from steelyard.comparing.attribution import Traces
    from steelyard.comparing.attribution_model import Attribution
    from steelyard.comparing.model import Comparison
    from steelyard.judging.cost_estimate import CostEstimate
    from steelyard.results.find import StoredRun
    from steelyard.runner.anchors import Purchase

attribution_options = together(
    click.option(
        "--suite", metavar="SUITE", help="Where the suite is that B was scored with. [default: found by its name]"
    ),
    click.option(
        "--no-attribution", is_flag=True, help="Do not attribute the change of the headline number to causes."
    ),
    click.option(
        "--rejudge",
        metavar="N",
        type=click.IntRange(min=1),
        help="Let B's judge score N answers of A, to separate judge and system; estimates the cost first.",
    ),
    click.option(
        "--max-cost", metavar="COST", type=Finite(min=0), help="With --rejudge: spend no more than this on judges."
    ),
    click.option("--yes", is_flag=True, help="With --rejudge: do not ask for confirmation."),
)
"""`--suite`, `--no-attribution`, `--rejudge`, `--max-cost` and `--yes`."""


@frozen
class AttributionOptions:
    """What was asked for on the command line."""

    suite: str | None = None
    left_out: bool = False
    rejudge: int | None = None
    max_cost: float | None = None
    yes: bool = False

    def refuse_what_does_nothing(self) -> None:
        """UsageError for options that have no effect beside the others."""
        if self.left_out and (self.suite is not None or self.rejudge is not None):
            given = "--suite" if self.suite is not None else "--rejudge"
            raise UsageError(f"{given} and --no-attribution do not go together: leave one out")
        if self.rejudge is None and (self.max_cost is not None or self.yes):
            raise UsageError(f"{'--yes' if self.yes else '--max-cost'}: no judge is called without --rejudge N")

    def compared(
        self, a: StoredRun, b: StoredRun, store_url: str | None, closing: ExitStack, *, allow_mismatch: bool
    ) -> Comparison:
        """The comparison of two found runs, with why the headline number moved unless that is left out."""
        from steelyard.comparing.operations import compared

        if self.left_out:
            return compared(a, b, allow_mismatch=allow_mismatch)
        return self.traced(a, b, store_url, closing, allow_mismatch=allow_mismatch)[0]

    def traced(
        self, a: StoredRun, b: StoredRun, store_url: str | None, closing: ExitStack, *, allow_mismatch: bool
    ) -> tuple[Comparison, Attribution, Traces]:
        """The comparison, why the headline number moved, and what every reading adds to that."""
        from steelyard.comparing.operations import traced

        purchase = self._purchase(store_url, closing)
        return traced(a, b, suite=self.suite, purchase=purchase, allow_mismatch=allow_mismatch)

    def _purchase(self, store_url: str | None, closing: ExitStack) -> Purchase | None:
        from steelyard.runner.anchors import Purchase
        from steelyard.store.sql import open_store

        if self.rejudge is None:
            return None
        # In the user's own store, made if need be: what was paid for outlives the files that are compared.
        store = closing.enter_context(open_store(store_url))
        return Purchase(self.rejudge, store, self._agree, self.max_cost)

    def _agree(self, estimate: CostEstimate) -> None:
        if estimate.texts == 0:
            click.echo("All of these answers were judged before: no call is needed.", err=True)
            return
        click.echo(f"Letting B's judge score answers of A takes: {estimate}", err=True)
        confirm("Go on?", yes=self.yes)


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B", required=False)
@click.option(
    "--variants", metavar="A B", nargs=2, help="Compare two variants of one run, paired by case; no call is made."
)
@click.option("--allow-mismatch", is_flag=True, help="Give a verdict although the signature or the truth differs.")
@click.option("--markdown", metavar="FILE", type=FILE, help="Write the comparison as Markdown, too.")
@click.option("--html", metavar="FILE", type=FILE, help="Write it as one self-contained HTML file, too.")
@attribution_options
@explain_options
@store_url
@as_json
def compare_command(
    a: str,
    b: str | None,
    variants: tuple[str, str] | None,
    allow_mismatch: bool,
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
    """Show what changed between two runs, with intervals and p-values.

    A (before) and B (after) are runs (a name, the beginning of it, LAST, LAST~1), baselines (@release) or snapshot
    files (.json), which are not put into the store. Exit code 0 when B is better or the same, 1 when it is worse, 4
    for CANNOT TELL, 3 when a run is INVALID. When no sample of A can be compared with one of B, the figures of
    both runs are shown side by side, and the verdict is CANNOT TELL.

    Says also why the headline number moved: other cases, missing answers, scorers, truth, judge or the system. A's
    recorded answers are scored by B's suite for that, where the two signatures differ.

    `steelyard compare RUN --variants short long` compares two variants of one run in the same way.
    """
    if (b is None) == (variants is None):
        raise UsageError("give two runs, or one run and --variants with two of its variants")
    options = AttributionOptions(suite, no_attribution, rejudge, max_cost, yes)
    options.refuse_what_does_nothing()
    explaining = ExplainOptions(explain, limit)
    explaining.refuse_beside(markdown=markdown, html=html)
    asks_why = (explain or "").partition(".")[0] == "why"
    if asks_why:
        explaining.refuse_beside(**{"no-attribution": no_attribution})
    else:
        explaining.refuse_beside(suite=suite, rejudge=rejudge)
    from steelyard.comparing.operations import compared_variants, shown_comparison

    with ExitStack() as closing:
        runs = FoundRuns(store_url, closing)
        if b is None:
            explaining.refuse_beside(variants=True)
            if options != AttributionOptions():
                raise UsageError(
                    "--variants: both are of one run, and there is nothing to attribute: leave out the rest"
                )
            comparison = compared_variants(runs.find(a), variants or ("", ""), allow_mismatch=allow_mismatch)
        elif asks_why:
            traced = options.traced(runs.find(a), runs.find(b), store_url, closing, allow_mismatch=allow_mismatch)
            sys.exit(_explain_why(explaining, *traced, as_json=as_json))
        elif explain is not None:
            found = runs.find(a), runs.find(b)
            sys.exit(_explain(explaining, *found, allow_mismatch=allow_mismatch, as_json=as_json))
        else:
            found = runs.find(a), runs.find(b)
            comparison = options.compared(*found, store_url, closing, allow_mismatch=allow_mismatch)
    sys.exit(show(shown_comparison(comparison), markdown, html, as_json=as_json))


def _explain(explaining: ExplainOptions, a: StoredRun, b: StoredRun, *, allow_mismatch: bool, as_json: bool) -> int:
    """Print what stands behind a figure of a comparison; the exit code that the comparison ends with."""
    from steelyard.comparing.explain import explain_comparison
    from steelyard.comparing.explanations import pair_blocks, pair_data
    from steelyard.comparing.operations import read_both, shown_comparison, traced_runs

    first, second = read_both(a, b)
    comparison = traced_runs(first, second, allow_mismatch=allow_mismatch)[0]
    result = explain_comparison(first, second, comparison, explaining.metric or "", allow_mismatch=allow_mismatch)
    explaining.show([first.header.id, second.header.id], result, pair_data, pair_blocks, as_json=as_json)
    return shown_comparison(comparison).exit_code


def _explain_why(
    explaining: ExplainOptions, comparison: Comparison, attribution: Attribution, traces: Traces, *, as_json: bool
) -> int:
    """Print what stands behind the parts of the change; the exit code that the comparison ends with."""
    from steelyard.comparing.explain import explain_why
    from steelyard.comparing.operations import shown_comparison
    from steelyard.report.explanations import explanation_blocks, explanation_data

    result = explain_why(attribution, traces, explaining.metric or "")
    runs = [comparison.a.id, comparison.b.id]
    explaining.show(runs, result, explanation_data, explanation_blocks, as_json=as_json)
    return shown_comparison(comparison).exit_code

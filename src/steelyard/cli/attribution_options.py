"""Options of `compare` on why the headline number moved, and what they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import Finite, completed, together
from steelyard.cli.output import confirm, console, print_json
from steelyard.errors import UsageError
from steelyard.frozen import frozen

if TYPE_CHECKING:
    from steelyard.analysis.compare.attribution import Traces
    from steelyard.analysis.compare.attribution_model import Attribution
    from steelyard.analysis.compare.model import Comparison
    from steelyard.analysis.explain import Explanation, PairExplanation
    from steelyard.judging.cost_estimate import CostEstimate
    from steelyard.records import RunHeader
    from steelyard.results.find import StoredRun
    from steelyard.runner.attribute import Purchase
    from steelyard.store.base import Store


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
        from steelyard.results.comparisons import compared

        if self.left_out:
            return compared(a, b, allow_mismatch=allow_mismatch)
        return self.traced(a, b, store_url, closing, allow_mismatch=allow_mismatch)[0]

    def traced(
        self, a: StoredRun, b: StoredRun, store_url: str | None, closing: ExitStack, *, allow_mismatch: bool
    ) -> tuple[Comparison, Attribution, Traces]:
        """The comparison, why the headline number moved, and what every reading adds to that."""
        from steelyard.results.comparisons import traced

        purchase = self._purchase(store_url, closing)
        return traced(a, b, suite=self.suite, purchase=purchase, allow_mismatch=allow_mismatch)

    def _purchase(self, store_url: str | None, closing: ExitStack) -> Purchase | None:
        from steelyard.runner.attribute import Purchase
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


# `--explain` and `--limit`: one figure of a report or a comparison, with everything behind it.

_LISTED = 10


explain_options = together(
    click.option(
        "--explain",
        metavar="METRIC",
        shell_complete=completed("metrics"),
        help="Print one figure's formula, n, what it leaves out and its samples: pass_rate,"
        " category.chairs.average, gain.FORMAT (list names all of a report); of a comparison also why.truth, or"
        " why for all parts of the change.",
    ),
    click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(min=0),
        help=f"With --explain: list N samples. [default: {_LISTED}, with --json all]",
    ),
)
"""`--explain` and `--limit`."""


@frozen
class ExplainOptions:
    """What was asked for on the command line."""

    metric: str | None
    limit: int | None

    def refuse_beside(self, **given: object) -> None:
        """UsageError for options that have no effect beside these."""
        if self.metric is None:
            if self.limit is not None:
                raise UsageError("--limit: nothing is listed without --explain METRIC")
            return
        for name, value in given.items():
            if value:
                raise UsageError(f"--explain and --{name} do not go together: leave one out")

    @property
    def asks_why(self) -> bool:
        """Whether a part of the change of the headline number is asked for."""
        return (self.metric or "").partition(".")[0] == "why"

    def reported(self, store: Store, header: RunHeader, *, as_json: bool) -> None:
        """Print what stands behind a figure of a report, or the names of all of them."""
        from steelyard.report.explain import LIST, explain_report, list_figures

        if self.metric != LIST:
            self.show([header.id], explain_report(store, header, self.metric or ""), as_json=as_json)
            return
        if self.limit is not None:
            raise UsageError(f"--limit: --explain {LIST} names every figure, and lists no sample")
        from steelyard.report.explanations import print_names

        figures = list_figures(store, header)
        if as_json:
            print_json({"runs": [header.id], "figures": [{"name": name, "about": about} for name, about in figures]})
        else:
            print_names(figures, console(), title=f"Figures of {header.id}")

    def compared(self, a: StoredRun, b: StoredRun, *, allow_mismatch: bool, as_json: bool) -> int:
        """Print what stands behind a figure of a comparison; the exit code that the comparison ends with."""
        from steelyard.analysis.explain import explain_comparison
        from steelyard.results.comparisons import read_both, shown_comparison, traced_runs

        first, second = read_both(a, b)
        comparison = traced_runs(first, second, allow_mismatch=allow_mismatch)[0]
        result = explain_comparison(first, second, comparison, self.metric or "", allow_mismatch=allow_mismatch)
        self.show([first.header.id, second.header.id], result, as_json=as_json)
        return shown_comparison(comparison).exit_code

    def why(self, comparison: Comparison, attribution: Attribution, traces: Traces, *, as_json: bool) -> int:
        """Print what stands behind the parts of the change; the exit code that the comparison ends with."""
        from steelyard.analysis.compare.attribution import explain_why
        from steelyard.results.comparisons import shown_comparison

        runs = [comparison.a.id, comparison.b.id]
        self.show(runs, explain_why(attribution, traces, self.metric or ""), as_json=as_json)
        return shown_comparison(comparison).exit_code

    def show(
        self, runs: Sequence[str], explanations: Sequence[Explanation | PairExplanation], *, as_json: bool
    ) -> None:
        """Print what stands behind the figures."""
        if as_json:
            from steelyard.report.explanations import explanations_to_json

            print_json(explanations_to_json(runs, explanations, self.limit))
            return
        from steelyard.report.explanations import print_explanations

        print_explanations(explanations, console(), runs, _LISTED if self.limit is None else self.limit)

"""`--explain` and `--limit`: one figure of a report or a comparison, with everything behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from steelyard.analysis.attribution_model import Attribution
    from steelyard.analysis.attribution_terms import Traces
    from steelyard.analysis.compare_model import Comparison
    from steelyard.analysis.explain import Explanation, PairExplanation
    from steelyard.records import RunHeader
    from steelyard.store.base import Store

_LISTED = 10


def explain_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--explain` and `--limit`."""
    for option in (
        click.option(
            "--limit",
            metavar="N",
            type=click.IntRange(min=0),
            help=f"With --explain: list N samples. [default: {_LISTED}, with --json all]",
        ),
        click.option(
            "--explain",
            metavar="METRIC",
            help="Print one figure's formula, n, what it leaves out and the samples behind it: pass_rate,"
            " category.chairs.average, gain.FORMAT (list names all of a report); of a comparison also why.truth, or"
            " why for all parts of the change.",
        ),
    ):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """What was asked for on the command line."""

    metric: str | None
    limit: int | None

    def refuse_beside(self, **given: object) -> None:
        """UserMistake for options that have no effect beside these."""
        from steelyard.errors import UserMistake

        if self.metric is None:
            if self.limit is not None:
                raise UserMistake("--limit: nothing is listed without --explain METRIC")
            return
        for name, value in given.items():
            if value:
                raise UserMistake(f"--explain and --{name} do not go together: leave one out")

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
            from steelyard.errors import UserMistake

            raise UserMistake(f"--limit: --explain {LIST} names every figure, and lists no sample")
        from steelyard.cli.show import console, print_json
        from steelyard.report.explain_terminal import print_names

        found = list_figures(store, header)
        if as_json:
            print_json({"runs": [header.id], "figures": [{"name": name, "place": place} for name, place in found]})
        else:
            print_names(found, console(), title=f"Figures of {header.id}")

    def compared(self, a: tuple[Store, str], b: tuple[Store, str], *, anyway: bool, as_json: bool) -> int:
        """Print what stands behind a figure of a comparison; the exit code that the comparison ends with."""
        from steelyard.analysis.compare import compare
        from steelyard.analysis.compared_cases import common_cases
        from steelyard.analysis.compared_run import read_run
        from steelyard.analysis.explain_compare import explain_comparison
        from steelyard.analysis.system_part import with_attribution
        from steelyard.attributing import attribution_of
        from steelyard.cli.compare_command import exit_code
        from steelyard.same_instrument import rescored

        second = read_run(*b)
        first = rescored(read_run(*a), second)
        cases = common_cases(first, second)
        comparison = compare(first, second, anyway=anyway, cases=cases)
        comparison = with_attribution(comparison, attribution_of(first, second, cases)[0])
        found = explain_comparison(first, second, comparison, self.metric or "", anyway=anyway)
        self.show([first.header.id, second.header.id], found, as_json=as_json)
        return exit_code(comparison)

    def why(self, comparison: Comparison, found: Attribution, traces: Traces, *, as_json: bool) -> int:
        """Print what stands behind the parts of the change; the exit code that the comparison ends with."""
        from steelyard.analysis.attribution_terms import explain_why
        from steelyard.cli.compare_command import exit_code

        runs = [comparison.a.id, comparison.b.id]
        self.show(runs, explain_why(found, traces, self.metric or ""), as_json=as_json)
        return exit_code(comparison)

    def show(self, runs: Sequence[str], found: Sequence[Explanation | PairExplanation], *, as_json: bool) -> None:
        """Print what stands behind the figures."""
        from steelyard.cli.show import console, print_json

        if wrong := [each.metric for each in found if not each.agrees]:
            told = f"{', '.join(wrong)}: the figure is not what its samples come to. Please report this fault."
            click.echo(told, err=True)
        if as_json:
            from steelyard.report.explain_json import explanations_to_json

            print_json(explanations_to_json(runs, found, self.limit))
            return
        from steelyard.report.explain_terminal import print_explanations

        limit = _LISTED if self.limit is None else self.limit
        print_explanations(found, console(), limit=limit, title=f"Behind {found[0].metric} of {' and '.join(runs)}")

"""Options of `compare` on why the headline number moved, and what they ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.shared_options import Finite

if TYPE_CHECKING:
    from steelyard.analysis.attribution_model import Attribution
    from steelyard.analysis.attribution_terms import Traces
    from steelyard.analysis.compare_model import Comparison
    from steelyard.analysis.compared_run import ComparedRun
    from steelyard.attributing import Purchase
    from steelyard.judging.estimate import CostEstimate
    from steelyard.store.base import Store


def attribution_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--suite`, `--no-attribution`, `--rejudge`, `--max-cost` and `--yes`."""
    for option in (
        click.option("--yes", is_flag=True, help="With --rejudge: go on without asking."),
        click.option(
            "--max-cost", metavar="COST", type=Finite(min=0), help="With --rejudge: spend no more than this on judges."
        ),
        click.option(
            "--rejudge",
            metavar="N",
            type=click.IntRange(min=1),
            help="Let B's judge read N answers of A, to tell judge and system apart; tells the cost first.",
        ),
        click.option("--no-attribution", is_flag=True, help="Do not look for why the headline number moved."),
        click.option(
            "--suite", metavar="SUITE", help="Where the suite is that B was weighed with. [default: found by its name]"
        ),
    ):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class AttributionOptions:
    """What was asked for on the command line."""

    suite: str | None = None
    left_out: bool = False
    rejudge: int | None = None
    max_cost: float | None = None
    yes: bool = False

    def refuse_what_does_nothing(self) -> None:
        """UserMistake for options that have no effect beside the others."""
        from steelyard.errors import UserMistake

        if self.left_out and (self.suite is not None or self.rejudge is not None):
            given = "--suite" if self.suite is not None else "--rejudge"
            raise UserMistake(f"{given} and --no-attribution do not go together: leave one out")
        if self.rejudge is None and (self.max_cost is not None or self.yes):
            raise UserMistake(f"{'--yes' if self.yes else '--max-cost'}: nobody is asked without --rejudge N")

    def compared(
        self, a: tuple[Store, str], b: tuple[Store, str], store_url: str | None, closing: ExitStack, *, anyway: bool
    ) -> Comparison:
        """The comparison of two found runs, with why the headline number moved unless that is left out."""
        from steelyard.analysis.compare import compare

        if self.left_out:
            return compare(*_read(a, b), anyway=anyway)
        return self.traced(a, b, store_url, closing, anyway=anyway)[0]

    def traced(
        self, a: tuple[Store, str], b: tuple[Store, str], store_url: str | None, closing: ExitStack, *, anyway: bool
    ) -> tuple[Comparison, Attribution, Traces]:
        """The comparison, why the headline number moved, and what every reading adds to that."""
        from steelyard.analysis.compare import compare
        from steelyard.analysis.compared_cases import common_cases
        from steelyard.analysis.system_part import with_attribution
        from steelyard.attributing import attribution_of

        first, second = _read(a, b, self.suite)
        cases = common_cases(first, second)
        comparison = compare(first, second, anyway=anyway, cases=cases)
        purchase = self._purchase(store_url, closing)
        found, traces = attribution_of(first, second, cases, suite=self.suite, purchase=purchase)
        return with_attribution(comparison, found), found, traces

    def _purchase(self, store_url: str | None, closing: ExitStack) -> Purchase | None:
        from steelyard.attributing import Purchase
        from steelyard.store.open import open_store

        if self.rejudge is None:
            return None
        # In the user's own store, made if need be: what was paid for outlives the files that are compared.
        store = open_store(store_url)
        closing.callback(store.close)
        return Purchase(self.rejudge, store, self._agree, self.max_cost)

    def _agree(self, estimate: CostEstimate) -> None:
        from steelyard.errors import UserMistake

        if estimate.texts == 0:
            click.echo("All of these answers were judged before: nothing is bought.", err=True)
            return
        click.echo(f"Letting B's judge read answers of A takes: {estimate}", err=True)
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise UserMistake("nobody is here to agree to that: add --yes to go on")
        click.confirm("Go on?", abort=True, err=True)


def _read(a: tuple[Store, str], b: tuple[Store, str], suite: str | None = None) -> tuple[ComparedRun, ComparedRun]:
    from steelyard.analysis.compared_run import read_run
    from steelyard.same_instrument import rescored

    second = read_run(*b)
    return rescored(read_run(*a), second, suite), second

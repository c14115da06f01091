"""The options `--explain` and `--limit`: one figure of a report or a comparison, with everything behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import completed, together
from steelyard.cli.output import console, print_document, print_json
from steelyard.errors import UsageError
from steelyard.frozen import frozen

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.report.document import Block
    from steelyard.store.base import Store

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

    def reported(self, store: Store, header: RunHeader, *, as_json: bool) -> None:
        """Print what stands behind a figure of a report, or the names of all of them."""
        from steelyard.report.explain import LIST, explain_report, list_figures
        from steelyard.report.explanations import explanation_blocks, explanation_data, print_names

        if self.metric != LIST:
            explanations = explain_report(store, header, self.metric or "")
            self.show([header.id], explanations, explanation_data, explanation_blocks, as_json=as_json)
            return
        if self.limit is not None:
            raise UsageError(f"--limit: --explain {LIST} names every figure, and lists no sample")
        figures = list_figures(store, header)
        if as_json:
            print_json({"runs": [header.id], "figures": [{"name": name, "about": about} for name, about in figures]})
        else:
            print_names(figures, console(), title=f"Figures of {header.id}")

    def show(
        self,
        runs: Sequence[str],
        explanations: Sequence[Any],
        data: Callable[[Any, int | None], dict[str, Any]],
        blocks: Callable[[Any, int | None], list[Block]],
        *,
        as_json: bool,
    ) -> None:
        """Print what stands behind the figures: their `data`, or their `blocks`, with as many samples as asked for."""
        if as_json:
            print_json({"runs": list(runs), "explained": [data(item, self.limit) for item in explanations]})
            return
        from steelyard.report.document import Document

        limit = _LISTED if self.limit is None else self.limit
        shown = [block for item in explanations for block in blocks(item, limit)]
        context = [f"run {run}" for run in runs]
        print_document(Document(f"Explanation of {explanations[0].metric}", shown, context=context))

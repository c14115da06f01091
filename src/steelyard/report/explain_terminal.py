"""What stands behind a figure, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from steelyard.analysis.explain_model import Explanation, PairExplanation
from steelyard.report import explain_tables
from steelyard.report.safe_text import ascii_only, visible
from steelyard.report.terminal_layout import Layout, print_parts, speaks_ascii_alone

_WIDE_NAME = 40
"""Longer names push their places to the right."""


def print_explanations(
    found: Sequence[Explanation | PairExplanation], console: Console, *, limit: int | None, title: str
) -> None:
    """Print each figure with its formula, what it leaves out and the samples behind it."""
    layout = Layout(width=console.width, plain=speaks_ascii_alone(console))
    print_parts(_parts(found, layout, limit, title), console)


def print_names(found: Sequence[tuple[str, str]], console: Console, *, title: str) -> None:
    """Print the name of every figure on a line of its own, as it is to be asked for, with its place behind it."""
    plain = speaks_ascii_alone(console)
    wide = max((len(name) for name, _ in found if len(name) <= _WIDE_NAME), default=0)
    rows = [f"{name:<{wide}}  {place}" for name, place in found]
    for line in (f"{title}, with their places in report --json (* is any, or all of them)", *rows):
        # Never broken: a name that is cut in two cannot be copied.
        console.print(Text(ascii_only(visible(line)) if plain else visible(line)), soft_wrap=True)


def _parts(
    found: Sequence[Explanation | PairExplanation], layout: Layout, limit: int | None, title: str
) -> Iterator[RenderableType]:
    yield layout.text(title, "bold")
    for each in found:
        wrong = "" if each.agrees else "bold red"
        rows = explain_tables.pair_facts(each) if isinstance(each, PairExplanation) else explain_tables.facts(each)
        yield from layout.facts(explain_tables.headline(each), rows[:-1])
        yield layout.bullet("check:", rows[-1][1], wrong)
        yield from layout.table(explain_tables.reasons("Left out", each.excluded))
        if isinstance(each, PairExplanation):
            yield from layout.table(explain_tables.pairs_behind(each, limit))
        else:
            yield from layout.table(explain_tables.reasons("In it otherwise than as it stands", each.noted))
            yield from layout.table(explain_tables.behind(each, limit))

"""What a suite can detect, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType

from steelyard.analysis.power import PowerFigures
from steelyard.report import power_tables
from steelyard.report.terminal_layout import LONGEST_LINE, Layout, print_parts, speaks_ascii_alone


def print_power(found: PowerFigures, console: Console) -> None:
    """Print the answer, where the noise comes from, and what more cases or repeats would do."""
    print_parts(_parts(found, Layout(width=console.width, plain=speaks_ascii_alone(console))), console)


def _parts(found: PowerFigures, layout: Layout) -> Iterator[RenderableType]:
    yield layout.text(f"Power of {found.suite}", "bold")
    yield layout.text(power_tables.headline(found))
    yield from layout.facts("Noise", power_tables.facts(found))
    yield from layout.table(power_tables.smallest_changes(found))
    yield from layout.table(power_tables.needed(found))
    yield layout.text("")
    yield layout.text(f"Method: {power_tables.METHOD}", "dim", limit=10 * LONGEST_LINE)

"""What stands behind a figure, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text as Line

from steelyard.analysis.explain import Explanation, PairExplanation
from steelyard.report import explain_tables
from steelyard.report.document import Block, Bullet, Bullets, Document, Facts, Section, Tone, table_section
from steelyard.report.format import ascii_only, visible
from steelyard.report.render.terminal import print_document

_WIDE_NAME = 40
"""Longer names push their places to the right."""


def print_explanations(
    found: Sequence[Explanation | PairExplanation], console: Console, *, limit: int | None, title: str
) -> None:
    """Print each figure with its formula, what it leaves out and the samples behind it."""
    print_document(Document(title, [block for each in found for block in _blocks(each, limit)]), console)


def print_names(found: Sequence[tuple[str, str]], console: Console, *, title: str) -> None:
    """Print the name of every figure on a line of its own, as it is to be asked for, with its place behind it."""
    plain = not console.encoding.startswith("utf")
    wide = max((len(name) for name, _ in found if len(name) <= _WIDE_NAME), default=0)
    rows = [f"{name:<{wide}}  {place}" for name, place in found]
    for line in (f"{title}, with their places in report --json (* is any, or all of them)", *rows):
        # Never broken: a name that is cut in two cannot be copied.
        console.print(Line(ascii_only(visible(line)) if plain else visible(line)), soft_wrap=True)


def _blocks(found: Explanation | PairExplanation, limit: int | None) -> list[Block]:
    rows = explain_tables.pair_facts(found) if isinstance(found, PairExplanation) else explain_tables.facts(found)
    checked = Bullet(rows[-1][1], Tone.PLAIN if found.agrees else Tone.WARNING, "check:")
    blocks: list[Block] = [Section(explain_tables.headline(found), [Facts(rows[:-1]), Bullets([checked])])]
    blocks += table_section(explain_tables.reasons("Left out", found.excluded))
    if isinstance(found, PairExplanation):
        return [*blocks, *table_section(explain_tables.pairs_behind(found, limit))]
    blocks += table_section(explain_tables.reasons("In it otherwise than as it stands", found.noted))
    return [*blocks, *table_section(explain_tables.behind(found, limit))]

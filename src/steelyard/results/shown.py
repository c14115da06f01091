"""What can be shown: as text, as one HTML block in a notebook, as files and as plain data."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from steelyard.report.charts.base import Chart
    from steelyard.report.document import Document

T = TypeVar("T")
_WIDTH = 100
"""Columns of the text; that of a terminal is none of a file's or a notebook's."""


class Shown(ABC):
    """Something with a report. Printed, and at the end of a notebook's cell, it is that report."""

    @abstractmethod
    def document(self) -> Document:
        """The report as blocks, which every form is made of."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """All of it as plain data: what the command prints with `--json`."""

    def to_json(self) -> str:
        """The same as text."""
        from steelyard.report.render.json import to_text

        return to_text(self.to_data())

    def write_html(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML file; the file."""
        from steelyard.report.render.html import to_html

        return _written(path, to_html(self.document()))

    def write_markdown(self, path: str | Path) -> Path:
        """Write the report as Markdown; the file."""
        from steelyard.report.render.markdown import to_markdown

        return _written(path, to_markdown(self.document()))

    @property
    def charts(self) -> Charts:
        """The charts of the report; at the end of a notebook's cell they are pictures."""
        from steelyard.report.charts.base import Chart
        from steelyard.report.document import every_block

        return Charts(block for block in every_block(self.document().blocks) if isinstance(block, Chart))

    def __str__(self) -> str:
        from steelyard.report.render.terminal import to_text

        return to_text(self.document(), _WIDTH)

    def _repr_html_(self) -> str:
        from steelyard.results.notebook import html_block

        return html_block(self.document())


class ShownResult(Shown, Generic[T]):
    """What a command shows: `result` is the object with all figures, `verdict` its answer, where it has one."""

    def __init__(
        self,
        result: T,
        document: Callable[[T], Document],
        data: Callable[[T], dict[str, Any]],
        verdict: str | None = None,
        *,
        exit_word: str | None = None,
    ) -> None:
        """`exit_word` is the verdict that the exit code stands for, where that is another."""
        self.result = result
        self.verdict = verdict
        self._document, self._data, self._exit_word = document, data, exit_word or verdict

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        from steelyard.report.verdicts import exit_code

        return exit_code(self._exit_word)

    def document(self) -> Document:
        return self._document(self.result)

    def to_data(self) -> dict[str, Any]:
        return self._data(self.result)

    def __repr__(self) -> str:
        return f"{type(self.result).__name__}({'' if self.verdict is None else f'verdict={self.verdict}'})"


class Charts(list["Chart"]):
    """Charts in the order of their report; in a notebook each is a picture, where the extra that draws is installed."""

    def __init__(self, charts: Iterable[Chart]) -> None:
        super().__init__(charts)

    def __repr__(self) -> str:
        return f"Charts({', '.join(chart.name for chart in self)})"

    def _repr_html_(self) -> str | None:
        from steelyard.report.charts.drawing import can_draw, to_svg
        from steelyard.report.render.html import tag

        if not self or not can_draw():
            return None
        address = "data:image/svg+xml;base64,"
        drawn = [(chart, address + base64.b64encode(to_svg(chart).encode()).decode()) for chart in self]
        return "".join(tag("p", tag("img", src=src, alt=chart.about, style="max-width:100%")) for chart, src in drawn)


def _written(path: str | Path, text: str) -> Path:
    from steelyard.report.render.json import write_text

    write_text(Path(path), text)
    return Path(path)

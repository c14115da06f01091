"""What can be shown: as text, as one HTML block in a notebook, as files and as plain data."""

from __future__ import annotations

import base64
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from steelyard.report.charts.base import Chart
    from steelyard.report.document import Document

T = TypeVar("T")
_LONGEST = 1_000
"""Characters of a text in a notebook; where so few have room, folded tables have their first rows alone."""
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


# The HTML block of a notebook. A page puts it among its own elements without a parser's or a script's help, so that
# neither a shadow root nor an iframe that fits is to be had: each rule is one of a class of ours instead.

_RESET = """
{0} {{ padding: .5rem 0; border-radius: 8px; }} {0} .wrap {{ margin: 0; }} {0} header.page {{ padding: .75rem 0; }}
{0} footer {{ padding: 0 0 .5rem; }} {0} table {{ margin: 0; table-layout: auto; border: 0; color: inherit; }}
{0}.steelyard tr, {0}.steelyard tr > * {{ background: none; max-width: none; }} {0} thead {{ border: 0; }}
"""
_THEMES = """
[data-jp-theme-light="true"] {0}, .vscode-light {0} {{ {1} color-scheme: light; }}
[data-jp-theme-light="false"] {0}, .vscode-dark {0}, .vscode-high-contrast {0} {{ {2} color-scheme: dark; }}
"""
"""Notebooks that have a theme of their own, whatever the reader's system has."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_NAMED = re.compile(r'(\bid="|\baria-labelledby="|url\(#)')


def html_block(document: Document) -> str:
    """The report as one element that brings its style, changes nothing around it and needs no script.

    Of samples it has the worst alone: a notebook keeps what a cell shows, and all samples are megabytes.
    """
    from steelyard.report.document import SampleList
    from steelyard.report.render.html import BlockWriter

    blocks = [block for block in document.blocks if not isinstance(block, SampleList)]
    hint = ["All samples: .write_html(FILE)"] if len(blocks) < len(document.blocks) else []
    shown = replace(document, blocks=blocks, last=[*document.last, *hint])
    body = re.sub(r'<a href="#[^"]*">(.*?)</a>', r"\1", BlockWriter(shown, _LONGEST).body())
    # Two blocks of a notebook are one page: ids and rules must differ unless all else is the same.
    own = f"s{hashlib.sha256(body.encode()).hexdigest()[:8]}"
    body = _NAMED.sub(rf"\g<1>{own}-", body)
    used = {name for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    return f'<div class="steelyard {own}"><style>{_style(f".steelyard.{own}", used)}</style>{body}</div>'


def _style(scope: str, used: set[str]) -> str:
    """The style of pages for these classes, each rule in the scope alone.

    The scope has two classes, so that it is stronger than what notebooks say of tables and headings.
    """
    from steelyard.report.render.html import asset

    page = _COMMENT.sub("", asset("page.css"))
    light, dark = re.findall(r":root \{([^}]*)\}", page)[:2]

    def scoped(rule: re.Match[str]) -> str:
        names = [name.strip() for name in rule[1].split(",")]
        needed = [name for name in names if used.issuperset(re.findall(r"\.([a-z][\w-]*)", name))]
        own = [scope if name in (":root", "html", "body") else f"{scope} {name}" for name in needed]
        return f"\n{', '.join(own)} {{{rule[2]}}}" if own else ""

    return _RULE.sub(scoped, page) + _RESET.format(scope) + _THEMES.format(scope, light, dark)

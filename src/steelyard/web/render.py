"""Pages as HTML: templates in which every text is escaped and every hidden character spelled out, and report blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from steelyard import __version__
from steelyard.frozen import values_of
from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.render.html import BlockWriter, badge, breakable, tag
from steelyard.report.render.page_size import ROOMY
from steelyard.store.selection import Selection
from steelyard.web import site

_REPEAT = re.compile(r" #\d+\Z")


def _visible(value: Any) -> Any:
    return value if isinstance(value, Markup) else fmt.visible(str(value))


TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("steelyard.web"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_visible,
)
TEMPLATES.globals |= {
    "version": __version__,
    "badge": badge,
    "Selection": Selection,
    **values_of(site, "run_address", "samples_address", "sample_address", "desk_address", "history_address"),
    **values_of(site, "runs_address", "suite_address", "Role"),
}
TEMPLATES.filters |= {
    **values_of(fmt, "percent", "points", "when", "seconds", "whole", "one_line", "shortened"),
    **values_of(fmt, "counted", "interval", "money"),
    "base": fmt.bare_base,
    "breakable": breakable,
}


def page(template: str, **shown: Any) -> str:
    """A template, filled."""
    return TEMPLATES.get_template(template).render(**shown)


class PageWriter(BlockWriter):
    """Writes a document in which the names of runs lead to them, and those of cases and samples to the samples of the
    case in one run."""

    def __init__(
        self, document: doc.Document, header: RunHeader | None, address: Callable[[Selection], str] | None = None
    ) -> None:
        super().__init__(document, ROOMY, address)
        self._run = None if header is None else header.id
        self._variants = set() if header is None else set(header.description.variant_names)

    def cell(self, cell: doc.Cell, column: doc.Column) -> Markup:
        named = isinstance(cell, str | doc.Link) and not isinstance(cell, doc.LinkedText) and str(cell)
        if named and column.title == "Run":
            return tag("a", breakable(self.line(named)), href=site.run_address(named))
        if named and column.title in ("Case", "Sample") and self._run is not None:
            return tag("a", breakable(self.line(named)), href=site.samples_address(self._run, self._case(named)))
        return super().cell(cell, column)

    def _case(self, name: str) -> Selection:
        """The samples of the case, and variant, that a name such as `furn-003 [careful] #2` begins with."""
        name = _REPEAT.sub("", name)
        case, _, variant = name.removesuffix("]").rpartition(" [")
        return Selection(case=case, variant=variant) if variant in self._variants else Selection(case=name)


def blocks(document: doc.Document, header: RunHeader | None = None) -> Markup:
    """The blocks of a document as HTML, with links to the cases of a run."""
    return PageWriter(document, header).content()


def pictures(drawn: Sequence[doc.Picture], addresses: Mapping[str, str]) -> Markup:
    """Pictures with their outlines; the browser fetches each by its address."""
    writer = BlockWriter(doc.Document("", ()), ROOMY)
    writer.picture_addresses = addresses
    return Markup("").join(writer.picture(item) for item in drawn)

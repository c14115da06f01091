"""Pages as HTML: templates in which every text is escaped and every hidden character spelled out, and report blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from steelyard import __version__
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.render.html import BlockWriter, badge, breakable
from steelyard.report.render.page_size import ROOMY
from steelyard.store.selection import Selection
from steelyard.web import site


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
    "run_address": site.run_address,
    "samples_address": site.samples_address,
    "sample_address": site.sample_address,
    "desk_address": site.desk_address,
    "history_address": site.history_address,
    "runs_address": site.runs_address,
    "suite_address": site.suite_address,
    "Selection": Selection,
    "Role": site.Role,
}
TEMPLATES.filters |= {
    "percent": fmt.percent,
    "when": fmt.when,
    "seconds": fmt.seconds,
    "one_line": fmt.one_line,
    "shortened": fmt.shortened,
    "counted": fmt.counted,
    "base": fmt.bare_base,
    "interval": fmt.interval,
    "money": fmt.money,
    "breakable": breakable,
}


def page(template: str, **shown: Any) -> str:
    """A template, filled."""
    return TEMPLATES.get_template(template).render(**shown)


def blocks(document: doc.Document) -> Markup:
    """The blocks of a document as HTML."""
    return BlockWriter(document, ROOMY).content()


def pictures(drawn: Sequence[doc.Picture], addresses: Mapping[str, str]) -> Markup:
    """Pictures with their outlines; the browser fetches each by its address."""
    writer = BlockWriter(doc.Document("", ()), ROOMY)
    writer.picture_addresses = addresses
    return Markup("").join(writer.picture(item) for item in drawn)

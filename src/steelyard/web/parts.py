"""Long documents in parts that are quick to load, and their charts as pictures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from markupsafe import Markup
from pydantic import Field

from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.charts.base import Chart
from steelyard.report.charts.drawing import can_draw, to_svg
from steelyard.report.render.html import BlockWriter, tag
from steelyard.store.sql import SqlStore
from steelyard.web.site import File, NotThere, Query, Visit

_FEW_ROWS, _MOST_FOLDS = 10, 6
"""Of a table of which a terminal shows fewer, and of the codes that open: the page of the samples has them all."""
_A_PART = 70_000
"""Bytes of blocks after which a page ends: the rest is fetched when it comes into sight."""
_TALL = 500.0
"""Pixels; a chart that is taller is folded."""
_LONGEST_DRAWING = 60.0
"""Seconds that a browser waits for a chart, while figures of other pages are being computed."""


class PartQuery(Query):
    """Which part of a long page."""

    part: int = Field(default=1, ge=1)


def in_parts(writer: BlockWriter) -> tuple[list[str], dict[str, Chart]]:
    """The blocks of a document as pages that are quick to load, and its charts by name."""
    charts: dict[str, Chart] = {}
    parts = [""]
    for short, some in groupby(_cut(writer.document.blocks, charts), lambda block: getattr(block, "short", False)):
        for piece in [list(some)] if short else [[block] for block in some]:
            written = str(writer.blocks(piece, short=short))
            if parts[-1] and len(parts[-1].encode()) + len(written.encode()) > _A_PART:
                parts.append("")
            parts[-1] += written
    return parts, charts


def _cut(blocks: Iterable[doc.Block], charts: dict[str, Chart]) -> Iterator[doc.Block]:
    """The blocks without what has a page of its own: samples, rows of long tables, and charts, which `charts` gets."""
    n_folds = 0
    for block in blocks:
        if isinstance(block, doc.Table):
            total = max(block.total or 0, len(block.rows))
            yield replace(block, rows=block.rows[: max(block.most, _FEW_ROWS)], total=total)
        elif isinstance(block, doc.Section | doc.Fold):
            n_folds += isinstance(block, doc.Fold)
            if n_folds <= _MOST_FOLDS:
                inside = list(_cut(block.blocks, charts))
                yield replace(block, blocks=inside) if isinstance(block, doc.Fold) else _section(block, inside)
        elif isinstance(block, Chart) and can_draw():
            yield _picture(block, charts)
        elif not isinstance(block, doc.SampleList):
            yield block


def _section(section: doc.Section, blocks: list[doc.Block]) -> doc.Section:
    """The section; pictures alone share the width with others."""
    return replace(section, blocks=blocks, short=section.short or all(isinstance(item, doc.Drawing) for item in blocks))


def _picture(chart: Chart, charts: dict[str, Chart]) -> doc.Block:
    """The chart as a picture that the browser asks for, and that is drawn then."""
    name = hashlib.blake2b(json.dumps(chart.spec, sort_keys=True).encode(), digest_size=12).hexdigest()
    charts[name] = chart
    drawing = doc.Drawing(str(tag("img", src=f"/charts/{name}", alt=chart.about, loading="lazy")), "")
    return doc.Fold(f"Chart: {chart.title}", [drawing]) if chart.height > _TALL else drawing


def part_of(visit: Visit, parts: Sequence[str]) -> dict[str, Any]:
    """The part of a page that is asked for."""
    part = visit.query.part
    if part > len(parts):
        raise NotThere(f"this page has {fmt.counted(len(parts), 'part')}")
    body = Markup(parts[part - 1])  # noqa: S704 - written by BlockWriter, which escapes
    return {"_body": body, "_next_part": part + 1 if part < len(parts) else None}


def show_chart(visit: Visit) -> tuple[bytes, str]:
    """A chart of a page that was shown."""
    spec = json.dumps(visit.site.chart(visit.path["chart"]).spec)
    drawn = visit.site.figures.ask(_draw, spec, state=None, timeout=_LONGEST_DRAWING)
    if drawn is None:
        raise NotThere("drawing this chart takes too long: load its page again")
    return drawn["svg"].encode(), "image/svg+xml"


def _draw(_: SqlStore, spec: str) -> dict[str, Any]:
    return {"svg": to_svg(Chart("", "", json.loads(spec), ""))}


FILES: tuple[File, ...] = (File("/charts/{chart}", show_chart),)

"""What pages show of two compared runs, with the pairs in their order: computed in the process for figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from steelyard.comparing import report as blocks
from steelyard.comparing import sentences
from steelyard.comparing.attributed_verdict import with_attribution
from steelyard.comparing.attribution import attribute_stored
from steelyard.comparing.compare import compare
from steelyard.comparing.model import Comparison
from steelyard.pairing.cases import CommonCases, common_cases
from steelyard.pairing.pairs import Lists, pair
from steelyard.pairing.runs import ComparedRun, read_run
from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.store.base import Store
from steelyard.store.sql import SqlStore
from steelyard.web.render import PageWriter
from steelyard.web.site import address_in_its_run

MOST_LISTED = 2_000
"""Pairs of each kind that are listed, the largest moves first; the count is of all."""
_LARGEST = {"answer": 20_000, "figures": 45_000}
"""Bytes on a page."""
_ROWS = (200, 100, 50, 25, 12, 6, 3)
_NOT_SPLIT = (
    "This page scores nothing again and calls nobody. In a terminal, `steelyard compare {} {}` scores A's recorded"
    " answers by B's suite, where that can tell the causes apart."
)


def change_figures(store: SqlStore, before: str, after: str) -> dict[str, Any]:
    """The comparison as a page and as data, and the pairs in their order."""
    return store.one_view(lambda: _change_figures(store, before, after))


def compared(store: Store, before: str, after: str) -> tuple[ComparedRun, ComparedRun, CommonCases, Comparison]:
    """Two runs, their common cases, and the comparison with what stored samples say of its causes."""
    a, b = read_run(store, before), read_run(store, after)
    cases = common_cases(a, b)
    return a, b, cases, with_attribution(compare(a, b, cases=cases), attribute_stored(a, b, cases))


def _change_figures(store: SqlStore, before: str, after: str) -> dict[str, Any]:
    a, b, cases, comparison = compared(store, before, after)
    order = Lists(a, b, cases, pair(a, b, cases)).in_order(MOST_LISTED)
    top, figures = blocks.pages(comparison)
    return {
        "comparison": blocks.data(comparison),
        "title": sentences.title(comparison),
        "context": list(top.context),
        "footer": list(top.footer),
        "answer": _fitting(top, b.header, _LARGEST["answer"]),
        "figures": _fitting(figures, b.header, _LARGEST["figures"]),
        "note": _NOT_SPLIT.format(before, after) if _may_be_split(comparison) else "",
        "by_pass": comparison.pairs.by_pass,
        "order": replace(order, first=_places(store, a, order.first), second=_places(store, b, order.second)),
    }


def _fitting(document: doc.Document, header: RunHeader, largest: int) -> Markup:
    """The blocks as HTML, with as many rows of each table as a page has room for."""
    for most in _ROWS:
        cut = doc.Document(document.title, [_cut(block, most) for block in document.blocks])
        page = PageWriter(cut, header, address_in_its_run).content()
        if len(page.encode()) <= largest:
            break
    return page


def _cut(block: doc.Block, most: int) -> doc.Block:
    if isinstance(block, doc.Section | doc.Fold):
        return replace(block, blocks=[_cut(item, most) for item in block.blocks])
    if not isinstance(block, doc.Table):
        return block
    return replace(block, rows=block.rows[:most], total=max(block.total or 0, len(block.rows)))


def _may_be_split(comparison: Comparison) -> bool:
    """Whether scoring A's answers again may say more than what is stored."""
    attribution = comparison.attribution
    return bool(comparison.signatures.confounds or (attribution is not None and attribution.joined))


def _places(store: SqlStore, run: ComparedRun, rows: np.ndarray) -> np.ndarray:
    """Rows of a run's columns as places in its plan."""
    positions = store.positions(run.header.id, run.columns.n)
    return np.where(rows < 0, -1, positions[rows]) if len(positions) else rows

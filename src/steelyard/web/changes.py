"""What changed between two runs, and the pairs behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup
from pydantic import Field

from steelyard.comparing import report as blocks
from steelyard.comparing import sentences
from steelyard.comparing.attributed_verdict import with_attribution
from steelyard.comparing.attribution import attribute_stored
from steelyard.comparing.compare import compare
from steelyard.comparing.model import Comparison
from steelyard.frozen import frozen
from steelyard.pairing.cases import CommonCases, common_cases
from steelyard.pairing.model import PairLine, Why
from steelyard.pairing.pairs import Lists, PairKind, PairOrder, pair
from steelyard.pairing.runs import ComparedRun, read_run
from steelyard.records import Finding, RunHeader, Sample
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.samples import why_wrong
from steelyard.report.wording import scale_of, status_of
from steelyard.stats.paired import NO_CHANGE
from steelyard.store.base import Store
from steelyard.store.excerpt import Excerpt
from steelyard.store.sql import SqlStore
from steelyard.web.differences import LONGEST, WIDE, Part, ShownLength, differences
from steelyard.web.render import PageWriter
from steelyard.web.run import state_of
from steelyard.web.site import (
    NotThere,
    Query,
    Resource,
    Visit,
    address_in_its_run,
    change_address,
    number_in,
    sample_address,
    with_query,
)

MOST_LISTED = 2_000
"""Pairs of each kind that are listed, the largest moves first; the count is of all."""
_A_PAGE = 20
_FIRST = 5
"""Pairs that the page of the comparison shows itself."""
_SHORT = ShownLength(most=300, context=120)
_LONGEST_TEXT = 6_000
_MOST_FINDINGS = 50
_LARGEST = {"answer": 20_000, "figures": 45_000}
"""Bytes on a page."""
_ROWS = (200, 100, 50, 25, 12, 6, 3)
_LONGEST_VALUE = 200
_NOT_SPLIT = (
    "This page scores nothing again and calls nobody. In a terminal, `steelyard compare {} {}` scores A's recorded"
    " answers by B's suite, where that can tell the causes apart."
)


class PairQuery(Query):
    """Among which pairs the next and the previous one are looked for."""

    kind: PairKind = PairKind.ALL
    """What became of them; worse and better are by score, broken and fixed by the pass rule."""


class PairsQuery(PairQuery):
    """Which pairs are listed."""

    after: int = Field(0, ge=0, le=1_000_000_000)
    """Pairs after this one alone, by number."""


# Computed in the process for figures.


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


# The pages.


@frozen
class _Change:
    """Two runs with what was computed of them."""

    a: RunHeader
    b: RunHeader
    figures: Mapping[str, Any]

    @property
    def order(self) -> PairOrder:
        order: PairOrder = self.figures["order"]
        return order

    def address(self, number: int | None = None, **given: object) -> str:
        """The page of the pairs, or of one of them; without what every page shows anyway."""
        place = "" if number is None else f"/{number}"
        shown = {name: value for name, value in given.items() if value not in (PairKind.ALL, 0)}
        return with_query(f"{change_address(self.a.id, self.b.id)}/pairs{place}", shown)

    def kinds(self) -> list[dict[str, Any]]:
        """Every kind that occurs, with how many pairs are of it and how many of these are listed."""
        order = self.order
        return [
            {"kind": kind.value, "count": order.counts[kind], "listed": len(order.places[kind])}
            for kind in PairKind
            if order.counts[kind] or kind is PairKind.ALL
        ]

    def after(self, kind: PairKind, number: int) -> list[int]:
        """The numbers of the pairs of a kind after one; numbers begin with 1."""
        places = self.order.places[kind]
        return [place + 1 for place in places[np.searchsorted(places, number) :][:_A_PAGE].tolist()]

    def next_of(self, kind: PairKind, number: int) -> int | None:
        """The next pair of a kind, after the last one the first; None when there is no other."""
        places = self.order.places[kind]
        following = self.after(kind, number) or [int(place) + 1 for place in places[:1]]
        return None if not following or following[0] == number else following[0]

    def steps(self, number: int) -> list[dict[str, Any]]:
        """Where the keys lead from a pair, or with 0 from before the first."""
        kinds = [("b", PairKind.BROKEN), ("f", PairKind.FIXED)]
        if not self.figures["by_pass"]:
            kinds = [("b", PairKind.WORSE), ("f", PairKind.BETTER)]
        steps = [(key, kind, self.next_of(kind, number)) for key, kind in (*kinds, ("x", PairKind.NOT_COMPARABLE))]
        return [
            {"key": key, "kind": kind.value, "number": place, "address": self.address(place, kind=kind.value)}
            for key, kind, place in steps
            if place is not None
        ]

    def frame(self) -> dict[str, Any]:
        """What every page of the comparison has."""
        about = {"before": self.a.id, "after": self.b.id, "suite": self.figures["title"], "kinds": self.kinds()}
        return about | {"_address": self.address, "_change": change_address(self.a.id, self.b.id)}


def _change(visit: Visit) -> _Change:
    a, b = visit.store.run(visit.path["before"]), visit.store.run(visit.path["after"])
    state = (state_of(visit.store, a), state_of(visit.store, b))
    about = f"The runs {a.id} and {b.id} are being compared"
    return _Change(a, b, visit.figures(change_figures, a.id, b.id, about=about, state=state))


def show_change(visit: Visit) -> Mapping[str, Any]:
    """Better, worse, the same or cannot tell; why; and the pairs that moved most."""
    change = _change(visit)
    figures = change.figures
    return change.frame() | {
        "comparison": figures["comparison"],
        "note": figures["note"],
        "pairs": _pairs(visit.store, change, change.after(PairKind.ALL, 0)[:_FIRST], _SHORT),
        "_context": figures["context"],
        "_footer": figures["footer"],
        "_answer": figures["answer"],
        "_figures": figures["figures"],
        "_steps": change.steps(0),
    }


def list_pairs(visit: Visit) -> Mapping[str, Any]:
    """The pairs of a kind, the largest move first."""
    change, query = _change(visit), visit.query
    numbers = change.after(query.kind, query.after)
    places = change.order.places[query.kind]
    return change.frame() | {
        "kind": query.kind.value,
        "pairs": _pairs(visit.store, change, numbers, _SHORT),
        "next": numbers[-1] if numbers and numbers[-1] <= int(places[-1]) else None,
        "_most": MOST_LISTED,
        "_steps": change.steps(query.after),
    }


def show_pair(visit: Visit) -> Mapping[str, Any]:
    """One pair: both answers with what differs, scores, findings, and what was expected."""
    change, kind = _change(visit), visit.query.kind
    total = len(change.order.first)
    name = visit.path["number"]
    number = number_in(name) or 0
    if not 1 <= number <= total:
        raise NotThere(f"there is no pair {name[:20]!r} of {change.a.id} and {change.b.id}: 1 to {total:,} are")
    places = change.order.places[kind]
    before = int(np.searchsorted(places, number - 1))
    return change.frame() | {
        "kind": kind.value,
        "pair": _pairs(visit.store, change, [number], WIDE)[0],
        "previous": int(places[before - 1]) + 1 if before else None,
        "next": next(iter(change.after(kind, number)), None),
        "place": before + 1 if before < len(places) and places[before] == number - 1 else None,
        "_steps": change.steps(number),
    }


def _pairs(store: SqlStore, change: _Change, numbers: Sequence[int], reach: ShownLength) -> list[dict[str, Any]]:
    """Some pairs as data, each with what differs in the answers; with a wide reach all that a page of one shows."""
    sides = []
    for header, places in ((change.a, change.order.first), (change.b, change.order.second)):
        positions = [int(places[number - 1]) for number in numbers]
        excerpts = store.excerpts(header.id, [at for at in positions if at >= 0], most=LONGEST)
        sides.append([excerpts.get(at) for at in positions])
    return [_pair(change, number, before, after, reach) for number, before, after in zip(numbers, *sides, strict=True)]


def _pair(
    change: _Change, number: int, before: Excerpt | None, after: Excerpt | None, reach: ShownLength
) -> dict[str, Any]:
    sample = (before or after).sample  # type: ignore[union-attr] # one of them is there
    reason = int(change.order.reason[number - 1])
    a, b = (None if side is None else side.sample for side in (before, after))
    texts = [(side.call_result.text if side else None) or "" for side in (a, b)]
    scores = [None if side is None else side.score for side in (a, b)]
    moved = None if reason >= 0 or scores[0] is None or scores[1] is None else scores[1] - scores[0]
    data = {
        "number": number,
        "name": sentences.pair_name(PairLine(sample.case_id, sample.variant, sample.repeat)),
        "kinds": [PairKind.NOT_COMPARABLE.value] if reason >= 0 else _kinds(a, b, moved),
        "not_comparable": "" if reason < 0 else list(Why)[reason].value,
        "before": _side(change.a, before),
        "after": _side(change.b, after),
        "moved": moved,
        "answers": differences(texts[0], texts[1], reach) + _not_read(before, after),
        "findings": _findings(a, b),
    }
    if reach is not WIDE:
        return data
    cases = [None if side is None else side.case for side in (before, after)]
    return data | {
        "input": [None if case is None else _bounded(case.input) for case in cases],
        "expected": [None if case is None else _bounded(case.expected) for case in cases],
        "components": _components(change, before, after),
    }


def _not_read(*sides: Excerpt | None) -> list[Part]:
    """That answers go on after what was compared; two that are alike up to there need not be."""
    goes_on = any(side is not None and side.cut for side in sides)
    return [("cut", f"[not compared after {LONGEST:,} characters]")] if goes_on else []


def _kinds(a: Sample | None, b: Sample | None, moved: float | None) -> list[str]:
    """What became of a pair that is comparable."""
    passed = [None if side is None else side.passed for side in (a, b)]
    holds = {
        PairKind.BROKEN: passed == [True, False],
        PairKind.FIXED: passed == [False, True],
        PairKind.WORSE: moved is not None and moved < -NO_CHANGE,
        PairKind.BETTER: moved is not None and moved > NO_CHANGE,
    }
    return [kind.value for kind, held in holds.items() if held]


def _side(header: RunHeader, side: Excerpt | None) -> dict[str, Any] | None:
    if side is None:
        return None
    sample = side.sample
    return {
        "position": sample.position,
        "address": sample_address(header.id, sample.position or 0),
        "status": status_of(sample.outcome, sample.passed),
        "score": sample.score,
        "answered": sample.call_result.text is not None,
        "empty": sample.call_result.text == "",
        "why": why_wrong(sample),
    }


def _findings(a: Sample | None, b: Sample | None) -> list[dict[str, Any]]:
    """Findings that came and went, those that are in both last; of a pair with a side that says nothing, whose they
    are. Alike ones are counted."""
    both = all(side is not None and side.outcome.conclusive for side in (a, b))
    then, now = (Counter(map(_finding, side.findings if side else ())) for side in (a, b))
    moved = {"new": now - then, "resolved": then - now, "in both": then & now}
    parts = moved if both else {"in A": then, "in B": now}
    findings = [{"change": word, "count": n} | dict(item) for word, items in parts.items() for item, n in items.items()]
    return findings[:_MOST_FINDINGS]


def _finding(finding: Finding) -> tuple[tuple[str, str], ...]:
    parts = (("code", finding.code), ("place", finding.place), ("expected", finding.expected), ("got", finding.got))
    return tuple((name, fmt.one_line(fmt.as_text(value), _LONGEST_VALUE)) for name, value in parts)


def _components(change: _Change, before: Excerpt | None, after: Excerpt | None) -> list[dict[str, Any]]:
    """What each component scored on both sides, on its scale."""
    values = [
        {} if side is None else {score.name: score.value for score in side.sample.scores} for side in (before, after)
    ]
    return [
        {"name": name}
        | {
            side: fmt.on_scale(scores[name], scale_of(header, name)) if name in scores else ""
            for side, header, scores in zip(("before", "after"), (change.a, change.b), values, strict=True)
        }
        for name in dict.fromkeys([*values[0], *values[1]])
    ]


def _bounded(value: Any) -> str | None:
    return None if value is None else fmt.shortened(fmt.laid_out(value), _LONGEST_TEXT)


_PLACE = "/changes/{before}/{after}"
RESOURCES: tuple[Resource, ...] = (
    Resource(_PLACE, "What changed between two runs, and why.", show_change, "change.html"),
    Resource(f"{_PLACE}/pairs", "The pairs of two runs, the largest move first.", list_pairs, "pairs.html", PairsQuery),
    Resource(f"{_PLACE}/pairs/{{number}}", "One pair of samples side by side.", show_pair, "pair.html", PairQuery),
)

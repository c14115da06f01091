"""What charts share: colours, axes, the names of rows, layers and grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from steelyard.frozen import frozen
from steelyard.report.format import one_line
from steelyard.suite.case import cell_name

_MIME: Final = "application/vnd.vegalite.v5+json"
SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
MOST_ROWS: Final = 100
"""More cases than this cannot be read in one picture: the ones to look at first are shown, and the chart says so."""
ROW: Final = 18
"""Pixels that one case takes."""
LONGEST_NAME: Final = 64
"""Characters of a name; of a longer one the middle is left out, since ids often differ at their ends alone."""

# Okabe and Ito's colours, which differ in lightness as well as in hue; with lighter and darker ones of the same hues.
BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
DARK_VERMILLION: Final = "#B04A00"
YELLOW: Final = "#E6D934"
GREEN: Final = "#00785A"
GREY: Final = "#C9CED3"
PALE_BLUE: Final = "#BFE0F2"
LIGHT_BLUE: Final = "#72AEDB"
FAINT: Final = "#EEF1F4"
INK: Final = "#1F2933"
MUTED: Final = "#52606D"
BLACK: Final = "#000000"
WHITE: Final = "#FFFFFF"

_USUAL_HEIGHT: Final = 200
"""Pixels of a chart that does not set its height."""
_CONFIG: Final = {
    # A chart is one picture with one description; every mark with its own would be read out one by one.
    "aria": False,
    "background": "white",
    "font": "sans-serif",
    "padding": 12,
    "title": {"anchor": "start", "color": INK, "subtitleColor": MUTED, "fontSize": 15, "subtitleFontSize": 12},
    # Names are shortened before they come here; the library would cut them at their ends.
    "axis": {
        "labelColor": INK,
        "titleColor": MUTED,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 0,
        "gridColor": "#E1E5E9",
    },
    "view": {"stroke": None},
    "legend": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12, "symbolStrokeWidth": 0},
}


@frozen
class Chart:
    """A picture of stored figures."""

    name: str
    """What its file is called, without an ending."""
    title: str
    spec: dict[str, Any]
    """Vega-Lite as plain data, with everything that it shows inside."""
    about: str
    """What it shows, in words: for those who cannot see it."""

    @property
    def height(self) -> float:
        """About how high its picture is, in pixels, without title and axes."""
        height = self.spec.get("height", _USUAL_HEIGHT)
        return height["step"] * _n_rows(self.spec) if isinstance(height, dict) else float(height)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """The picture for a notebook; where nothing can draw it, the data, which some notebooks draw themselves."""
        from steelyard.report.charts.drawing import can_draw, to_svg

        drawn = {"image/svg+xml": to_svg(self)} if can_draw() else {_MIME: self.spec}
        return {"text/plain": f"{self.title}: {self.about}", **drawn}


def _n_rows(spec: Mapping[str, Any]) -> int:
    """How many rows the vertical axis of a chart, or of any of its layers, has."""
    own = len(spec.get("encoding", {}).get("y", {}).get("sort") or ())
    return max([own, *map(_n_rows, spec.get("layer", ()))])


class Cell(Protocol):
    """A case under a variant, which is "" where there is none."""

    @property
    def case_id(self) -> str:
        """The case."""

    @property
    def variant(self) -> str:
        """The variant."""


def chart(name: str, title: str, subtitle: str | list[str], about: str, **parts: Any) -> Chart:
    """A chart with the common look; `parts` are its layers, sizes and data."""
    spec = {
        "$schema": SCHEMA,
        "description": about,
        "config": _CONFIG,
        "title": {"text": title, "subtitle": subtitle},
        **parts,
    }
    return Chart(name, title, spec, about)


def row_names(cells: Sequence[Cell]) -> list[str]:
    """What each row is called: the case, and its variant when there is one; no two are called the same."""
    return distinct([cell_name(cell.case_id, cell.variant) for cell in cells])


def distinct(names: Sequence[str]) -> list[str]:
    """Short names for a picture, each another: two rows of one name would be drawn as one."""
    taken: dict[str, None] = {}
    for name in map(short_name, names):
        number, called = 1, name
        while called in taken:
            number += 1
            called = f"{name} [{number}]"
        taken[called] = None
    return list(taken)


def short_name(name: str) -> str:
    """The name on one line, with `…` for its middle when it is long."""
    line = one_line(name)
    if len(line) <= LONGEST_NAME:
        return line
    ends = LONGEST_NAME // 2
    return f"{line[: ends - 1]}…{line[-ends:]}"


def rows_shown(cells: Sequence[Cell], n_all: int, first: str, *, n_known: int) -> str:
    """How many cases a chart shows, in words: all of them, or those that come `first` of the `n_known` first."""
    n = len(cells)
    what = "case and variant" if any(cell.variant for cell in cells) else "case"
    what = what if n_all == 1 else "cases and variants" if "variant" in what else "cases"
    if n == n_all:
        return f"{n} {what}"
    of = f"{n} of {n_all:,} {what}, the {first} first"
    return of if n_known >= n_all else f"{of} among the first {n_known:,}"


STATED: Final = "as the file states, nothing was computed; "
"""What a chart says of figures that another tool states."""


def based_on(n: int) -> str:
    """What a figure in a chart stands on: `n 12`; another tool may not have said it."""
    return f"n {n:,}" if n else "n not stated"


def rows_axis(names: Sequence[str]) -> dict[str, Any]:
    """The vertical axis with one row a case, in the order given."""
    return {
        "field": "row",
        "type": "nominal",
        "sort": list(names),
        "title": None,
        "axis": {"domain": False, "ticks": False, "grid": False},
    }


def columns_axis(names: Sequence[str]) -> dict[str, Any]:
    """The horizontal axis of a grid with one column a name, in the order given; many names stand aslant."""
    slant = -30 if len(names) > 5 or max(map(len, names), default=0) > 16 else 0
    return {
        "field": "column",
        "type": "nominal",
        "sort": list(names),
        "title": None,
        "axis": {"orient": "top", "labelAngle": slant, "domain": False, "ticks": False},
    }


def height() -> dict[str, int]:
    """As high as there are rows: 8 and 100 cases are equally readable."""
    return {"step": ROW}


def layer(values: Sequence[Mapping[str, Any]], mark: Mapping[str, Any], **places: Any) -> dict[str, Any]:
    """One layer of a picture; `places` say where its values stand and how they look, None is left out."""
    encoding = {name: item for name, item in places.items() if item is not None}
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


RECTANGLE: Final = {"type": "rect", "stroke": "white", "strokeWidth": 2}


def grid(
    name: str,
    title: str,
    texts: tuple[str, str],
    rows: Sequence[str],
    columns: Mapping[str, list[dict[str, Any]]],
    step: int,
    layers: list[dict[str, Any]],
    dark: str,
) -> Chart:
    """A grid of cases and `columns`, which have a field for each row; `texts` are subtitle and description.

    On what is `dark` the message of a field is white.
    """
    values = [
        {"row": row, "column": column} | square
        for at, row in enumerate(rows)
        for column, square in ((column, squares[at]) for column, squares in columns.items())
    ]
    colour = {"condition": {"test": dark, "value": WHITE}, "value": BLACK}
    message = {"mark": {"type": "text", "fontSize": 11}, "encoding": {"text": {"field": "message"}, "color": colour}}
    return chart(
        name,
        title,
        *texts,
        data={"values": values},
        width={"step": step},
        height=height(),
        encoding={"y": rows_axis(rows), "x": columns_axis([*columns])},
        layer=[*layers, message],
    )

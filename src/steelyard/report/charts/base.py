"""What a chart is, and what all charts share: colours that colour-blind people can tell apart, sizes, row names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
MOST_ROWS: Final = 100
"""More cases than this make a picture that nobody can read: the ones to look at first are shown, and it is said."""
ROW: Final = 18
"""Pixels that one case takes."""

# Okabe and Ito's colours, which differ in lightness as well as in hue.
BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
YELLOW: Final = "#F0E442"
GREY: Final = "#BFC5CA"
PALE_BLUE: Final = "#BFE0F2"
INK: Final = "#1F2933"
MUTED: Final = "#52606D"

_CONFIG: Final = {
    "background": "white",
    "font": "sans-serif",
    "padding": 12,
    "title": {"anchor": "start", "color": INK, "subtitleColor": MUTED, "fontSize": 15, "subtitleFontSize": 12},
    "axis": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12, "titleFontSize": 12, "labelLimit": 260},
    "view": {"stroke": None},
    "legend": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12},
}


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of stored figures."""

    name: str
    """What its file is called, without an ending."""
    spec: dict[str, Any]
    """Vega-Lite as plain data, with everything that it shows inside."""
    about: str
    """What it shows, in words: for those who cannot see it."""


def chart(name: str, title: str, subtitle: str, about: str, **parts: Any) -> Chart:
    """A chart with the common look; `parts` are its layers, sizes and data."""
    spec = {
        "$schema": SCHEMA,
        "config": _CONFIG,
        "title": {"text": title, "subtitle": subtitle},
        **parts,
    }
    return Chart(name, spec, about)


def row_name(case_id: str, variant: str) -> str:
    """What a row is called: the case, and its variant when there is one."""
    return f"{case_id} ({variant})" if variant else case_id


def rows_shown(n: int, n_all: int, first: str) -> str:
    """How many cases a chart shows, in words: all of them, or those that come `first`."""
    if n == n_all:
        return f"{n} case" if n == 1 else f"{n} cases"
    return f"{n} of {n_all:,} cases, the {first} first"


def rows_axis(names: Sequence[str]) -> dict[str, Any]:
    """The vertical axis with one row a case, in the order given."""
    return {
        "field": "row",
        "type": "nominal",
        "sort": list(names),
        "title": None,
        "axis": {"domain": False, "ticks": False},
    }


def height() -> dict[str, int]:
    """As high as there are rows: 8 and 100 cases are equally readable."""
    return {"step": ROW}

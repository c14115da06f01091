"""Charts as pictures, by the library of the field; it is an extra, since it weighs 84 MB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from steelyard.errors import MissingExtra, UsageError
from steelyard.report.charts.base import Chart
from steelyard.suite.files import write_bytes

_VERSION = "5.20"
_SHARPNESS = 2.0
"""Pixels of the picture to one of the chart: readable on the screens of today."""


def to_png(chart: Chart) -> bytes:
    """The chart as a PNG picture."""
    picture: bytes = _library().vegalite_to_png(chart.spec, vl_version=_VERSION, scale=_SHARPNESS)
    return picture


def to_svg(chart: Chart) -> str:
    """The chart as an SVG element."""
    drawing: str = _library().vegalite_to_svg(chart.spec, vl_version=_VERSION)
    return drawing


def can_draw() -> bool:
    """Whether the extra that draws is installed."""
    try:
        _library()
    except MissingExtra:
        return False
    return True


def write_charts(
    charts: Sequence[Chart], folder: Path, names: Mapping[str, str] | None = None, stale: Sequence[str] = ()
) -> list[Path]:
    """Write every chart as NAME.png into the folder, which is made if need be; `names` calls some by another name.

    All are drawn before the first is written. Of the charts named in `stale` those that are not drawn now are removed:
    what another run left there is none of this one. UsageError when it cannot be written there.
    """
    called = {
        name: folder / f"{(names or {}).get(name, name)}.png" for name in (*stale, *(item.name for item in charts))
    }
    drawn = [(called[chart.name], to_png(chart)) for chart in charts]
    try:
        for name in {*stale} - {chart.name for chart in charts}:
            called[name].unlink(missing_ok=True)
        if not drawn:
            return []
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror}") from error
    for path, picture in drawn:
        write_bytes(path, picture)
    return [path for path, _ in drawn]


def _library() -> ModuleType:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtra("drawing charts", "charts") from None
    module: ModuleType = vl_convert
    return module

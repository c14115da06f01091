"""Which suites there are: built-in ones, and those that installed packages bring along."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from steelyard.errors import SteelyardError
from steelyard.suite.cases import FileCases, ListCases

GROUP = "steelyard.suites"
SUITE_FILE = "suite.yaml"


@dataclass(frozen=True, slots=True)
class SuiteListing:
    """One suite as a list shows it; `problem` says why it could not be read."""

    name: str
    about: str = ""
    n_cases: int | None = None
    path: str = ""
    problem: str = ""


def holds_suite(place: str | Path) -> bool:
    """True where a suite can be read: at a file, or in a folder with a suite file."""
    path = Path(place)
    return (path / SUITE_FILE).exists() if path.is_dir() else path.exists()


def find_suite(name: str) -> Path | None:
    """Where the suite of that name is, or None."""
    return _places().get(name)


def suite_names() -> list[str]:
    """The names of all suites, sorted."""
    return sorted(_places())


def list_suites() -> list[SuiteListing]:
    """Every suite by name, with how many cases it has; cases are counted, not checked."""
    return [_listing(name, path) for name, path in sorted(_places().items())]


def _places() -> dict[str, Path]:
    built_in = Path(__file__).parent.parent / "suites"
    places = {path.parent.name: path for path in sorted(built_in.glob(f"*/{SUITE_FILE}"))}
    for point in entry_points(group=GROUP):
        module, _, inner = point.value.partition(":")
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            continue
        folders = list(spec.submodule_search_locations or []) if spec else []
        if folders:
            places.setdefault(point.name, Path(folders[0]) / (inner.replace(".", "/") if inner else "") / SUITE_FILE)
        elif spec is not None and spec.origin:
            places.setdefault(point.name, Path(spec.origin))
    return places


def _listing(name: str, path: Path) -> SuiteListing:
    from steelyard.suite.case_files import build_source
    from steelyard.suite.draft import Draft
    from steelyard.suite.inside import text_of
    from steelyard.suite.located import read_yaml

    if path.suffix == ".py":
        return SuiteListing(name, path=str(path))
    try:
        located = read_yaml(text_of(path, str(path)), path.name)
        raw = located.data if isinstance(located.data, dict) else {}
        source = build_source(raw.get("cases"), Draft(located, path.parent.resolve()))
        n = None if source is None else _count(source)
    except (SteelyardError, ValueError) as error:
        return SuiteListing(name, path=str(path), problem=str(error).splitlines()[0])
    return SuiteListing(name, str(raw.get("about") or ""), n, str(path))


def _count(source: FileCases | ListCases) -> int:
    if isinstance(source, ListCases):
        return len(source.records)
    return sum(1 for file in source.files for _ in source.records_of(file, lambda _: None))

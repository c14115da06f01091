"""A static copy of chosen runs and their comparisons: files that open from disk or any file host."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from steelyard import __version__
from steelyard.comparing import report as blocks
from steelyard.errors import SteelyardError, UsageError
from steelyard.records import RunHeader
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.report.build import build_report
from steelyard.report.render.html import to_html
from steelyard.report.run import document
from steelyard.store.base import Store
from steelyard.suite.case import digest
from steelyard.web.change_figures import compared

_MARK = "bundle.json"
"""Says that a folder is a bundle, so that it may be written anew."""
_OURS = re.compile(rf"index\.html|{re.escape(_MARK)}|(?:runs|changes)/[^/]+\.html")
_UP = (("All runs and comparisons", "../index.html"),)


def write_bundle(store: Store, folder: Path, headers: Sequence[RunHeader]) -> int:
    """Write the runs, each with its neighbour in time of the same suite compared, into a folder; how many files.

    All of it is there at the end, or nothing of it. UsageError when the folder holds anything else than a bundle.
    """
    folder = folder.resolve()
    if folder.exists() and not (folder.is_dir() and (_is_bundle(folder) or not any(folder.iterdir()))):
        raise UsageError(f"{folder} holds something else than a bundle: choose a new or an empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        n = _write(store, made, sorted(headers, key=lambda header: header.created_at))
        made.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return n


def _is_bundle(folder: Path) -> bool:
    """Whether nothing but a bundle is in a folder: the name of its mark is one that others use, too."""
    try:
        mark = json.loads((folder / _MARK).read_bytes())
    except (OSError, ValueError):
        return False
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()]
    return isinstance(mark, dict) and "runs" in mark and all(map(_OURS.fullmatch, files))


def _write(store: Store, folder: Path, headers: Sequence[RunHeader]) -> int:
    rows, changes = [], []
    for header in headers:
        report = build_report(store, header)
        page = document(report)
        name = f"runs/{_file(header.id)}"
        _put(folder / name, to_html(page, links=_UP))
        rows.append((header, page, name))
    for a, b in _neighbours(headers):
        try:
            comparison = compared(store, a.id, b.id)[-1]
        except SteelyardError as error:
            changes.append((a, b, str(error), ""))
            continue
        page = blocks.document(comparison)
        name = f"changes/{_file(f'{a.id}--{b.id}')}"
        _put(folder / name, to_html(page, links=_UP))
        changes.append((a, b, _answer(page), name))
    _put(folder / "index.html", to_html(_index(rows, changes)))
    listed = {"version": __version__, "runs": [header.id for header in headers]}
    _put(folder / _MARK, json.dumps(listed, indent=2) + "\n")
    return len(rows) + len([item for item in changes if item[3]]) + 2


def _neighbours(headers: Sequence[RunHeader]) -> Iterator[tuple[RunHeader, RunHeader]]:
    """Runs of one suite, each with the next one in time."""
    for suite in dict.fromkeys(header.suite_name for header in headers):
        yield from pairwise([header for header in headers if header.suite_name == suite])


def _index(
    rows: Sequence[tuple[RunHeader, doc.Document, str]], changes: Sequence[tuple[RunHeader, RunHeader, str, str]]
) -> doc.Document:
    listed = doc.table(
        "Runs",
        rows,
        ("Run", lambda row: doc.Link(row[0].id, row[2], away=True)),
        (doc.words("Suite"), lambda row: row[0].suite_name),
        (doc.words("When"), lambda row: fmt.when(row[0].created_at)),
        (doc.VERDICT, lambda row: row[1].headline.word if row[1].headline else ""),
        ("Pass rate", lambda row: row[1].headline.figure.value if row[1].headline and row[1].headline.figure else ""),
    )
    compared = doc.table(
        "Comparisons",
        changes,
        ("Comparison", lambda row: doc.Link(f"{row[0].id} → {row[1].id}", row[3], away=True)),
        (doc.words("Answer"), lambda row: row[2]),
    )
    return doc.Document(
        "Runs", [*doc.table_section(listed), *doc.table_section(compared)], [f"Steelyard {__version__}"]
    )


def _answer(page: doc.Document) -> str:
    headline = page.headline
    return "" if headline is None else f"{headline.shown or headline.word}: {headline.text}"


def _file(name: str) -> str:
    """A file name of harmless characters; a name that has others gets a digest, so that no two are alike."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", name)[:120]
    return f"{plain}.html" if plain == name else f"{plain}-{digest(name)[:8]}.html"


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")

"""Draws the pictures of the README again: the real report of a built-in suite in the terminal and as a page.

    python scripts/picture.py

The page is photographed only where Chromium is installed.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from steelyard import load_suite
from steelyard.report.build import build_report
from steelyard.report.model import Report
from steelyard.report.render.html import to_html
from steelyard.report.render.terminal import print_fitting
from steelyard.report.run import LINES, brief, document
from steelyard.runner import run
from steelyard.store.sql import open_store

SUITE = "antiques"
IMAGES = Path(__file__).parent.parent / "docs" / "images"
COLUMNS = 80
PAGE = (1000, 960)
LARGEST_PHOTO = 300_000
FONTS = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Calm colours with a contrast of at least 4.5 on the background.
THEME = TerminalTheme(
    background=(24, 26, 31),
    foreground=(215, 218, 224),
    normal=[
        (24, 26, 31), (255, 123, 114), (126, 211, 133), (229, 192, 123),
        (121, 184, 255), (210, 168, 255), (118, 214, 224), (215, 218, 224),
    ],
    bright=[
        (139, 148, 158), (255, 150, 142), (150, 230, 156), (240, 210, 150),
        (150, 202, 255), (224, 190, 255), (150, 230, 238), (255, 255, 255),
    ],
)  # fmt: skip


def scored_report() -> Report:
    """The suite scored on its recorded answers, in a store that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "picture.db"))
        try:
            header = run.run(load_suite(SUITE), store).header
            return build_report(store, header)
        finally:
            store.close()


def terminal_picture(report: Report) -> str:
    """The terminal report as SVG, with no font or file from elsewhere."""
    printed = io.StringIO()
    console = Console(file=printed, width=COLUMNS, force_terminal=True, color_system="standard")
    print_fitting(brief(report), console, LINES)
    recorder = Console(file=io.StringIO(), width=COLUMNS, record=True, force_terminal=True)
    recorder.print(Text(f"$ steelyard run {SUITE}", style="bold"))
    for line in printed.getvalue().rstrip().splitlines():
        recorder.print(Text.from_ansi(line.rstrip()), no_wrap=True, crop=True)
    svg = recorder.export_svg(title="steelyard", theme=THEME, unique_id="steelyard-report")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = re.sub(r"font-family: [^;]*;", f"font-family: {FONTS};", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    svg = svg.replace("<svg ", '<svg role="img" aria-label="The report of a run in the terminal" ', 1)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def page_photo(report: Report, png: Path) -> None:
    """The top of the HTML report, as Chromium shows it; nothing without Chromium."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no Chromium here: the photo of the page is left as it is", file=sys.stderr)  # noqa: T201
        return
    with tempfile.TemporaryDirectory() as folder:
        page, photo = Path(folder) / "report.html", Path(folder) / "report.png"
        page.write_text(to_html(document(report)), encoding="utf-8")
        subprocess.run(  # noqa: S603 - our own page in the browser found above
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--window-size={PAGE[0]},{PAGE[1]}", f"--screenshot={photo}", page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
        if photo.stat().st_size > LARGEST_PHOTO:
            sys.exit(
                f"the photo has {photo.stat().st_size} bytes; at most {LARGEST_PHOTO} are wanted: make PAGE smaller"
            )
        png.write_bytes(photo.read_bytes())


def main() -> None:
    """Draw both pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    report = scored_report()
    (IMAGES / "report.svg").write_text(terminal_picture(report), encoding="utf-8")
    page_photo(report, IMAGES / "report-html.png")
    print(f"drawn: {', '.join(str(path.relative_to(IMAGES.parent.parent)) for path in sorted(IMAGES.iterdir()))}")  # noqa: T201


if __name__ == "__main__":
    main()

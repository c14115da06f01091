"""Runs the built-in suites offline and shows the first things to see of them; their pages and texts go to `demo/`.

    python scripts/demo.py

First comes what one run says, what goes wrong in it, and whether a second set of answers is better; then a line for
every other suite. A verdict of FAIL (1) or AMBIGUOUS (4) is a result, not a broken demo; any other exit code is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

OUT = Path("demo")
STORE = OUT / "steelyard.db"
RESULTS = (0, 1, 4)
OTHERS = (
    ("cards", "photos and a real OCR engine: minutes", ("--repeats", "1")),
    ("tarot", "texts with a rubric, judged by rules", ()),
    ("spans", "spans in texts against gold, an embedded labeller", ()),
    ("review", "a live service, started for the run, five times", ()),
)
Call = Callable[..., tuple[int, str]]
"""From the arguments of a command to its exit code and what it prints."""


def command(*arguments: str) -> tuple[int, str]:
    """Run `steelyard ARGUMENTS`; its progress is seen in a terminal, what it prints is returned."""
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "steelyard", *arguments],
        env=os.environ | {"STEELYARD_STORE": str(STORE)},
        stdout=subprocess.PIPE,
        stderr=None if sys.stderr.isatty() else subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout if done.returncode in RESULTS else f"{done.stdout}{done.stderr or ''}"


def show(*lines: str) -> None:
    """Print the lines at once, before the next command takes its time."""
    print(*lines, sep="\n", flush=True)  # noqa: T201 - this is what the demo is for


def result(call: Call, page: str, *arguments: str) -> str:
    """What the command prints, stored as `demo/PAGE.txt`; the demo ends here when it broke."""
    code, text = call(*arguments)
    if code not in RESULTS:
        sys.exit(f"demo: steelyard {' '.join(arguments)} ended with exit code {code}\n{text}")
    (OUT / f"{page}.txt").write_text(text, encoding="utf-8")
    return text


def report(call: Call, page: str, *arguments: str) -> str:
    """What a run prints, with its page."""
    text = result(call, page, "run", *arguments)
    result(call, "written", "report", "LAST", "--html", str(OUT / f"{page}.html"))
    return text


def head(text: str, first_section: str) -> list[str]:
    """What stands above that section."""
    return text.partition(f"\n{first_section}\n")[0].rstrip().splitlines()


def section(text: str, heading: str) -> list[str]:
    """One section with its heading."""
    return next((block for block in text.split("\n\n") if block.startswith(heading)), "").splitlines()


def line(text: str) -> str:
    """The verdict of a run and its first figure."""
    verdict, figure = text.split("\n\n")[1].splitlines()[:2]
    return f"{verdict.split()[0]:10}{figure.strip()}"


def first_screen(call: Call) -> None:
    """A run, what goes wrong in it, and whether another set of answers is better."""
    text = report(call, "antiques", "antiques")
    show("$ steelyard run antiques", *head(text, "Overall"), "")
    text = result(call, "antiques-full", "report", "LAST", "--full")
    show("$ steelyard report LAST --full", "...", *section(text, "Errors by code"), "")
    report(call, "antiques-better", "antiques", "--target", "better")
    text = result(call, "compare", "compare", "LAST~1", "LAST", "--html", str(OUT / "compare.html"))
    show("$ steelyard run antiques --target better", "$ steelyard compare LAST~1 LAST", *head(text, "What moved"), "")


def other_suites(call: Call) -> None:
    """A line for each, and one for the judge of texts."""
    for name, about, options in OTHERS:
        show(f"$ steelyard run {' '.join((name, *options))}    # {about}")
        show(f"  {line(report(call, name, name, *options))}")
        if name == "tarot":
            page = str(OUT / "tarot-judge.html")
            text = result(call, "tarot-judge", "judge", "check", "tarot", "--run", "LAST", "--html", page)
            show("$ steelyard judge check tarot", f"  {text.split(chr(10) * 2)[1].splitlines()[0].strip()}")


def main(call: Call = command) -> None:
    """Everything, and where to read on."""
    OUT.mkdir(exist_ok=True)
    show("Five suites, offline. First: 50 antiques, identified by recorded answers.", "")
    first_screen(call)
    other_suites(call)
    (OUT / "written.txt").unlink()
    pages = " ".join(sorted(path.name for path in OUT.glob("*.html")))
    show("", "What was printed is there as .txt. Open these in a browser; they work from disk, with no network:")
    show(*(f"  {OUT / name}" for name in pages.split()))
    show("Next: steelyard init my-suite, or docs/tutorial.md.")


if __name__ == "__main__":
    main()

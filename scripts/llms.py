"""Print llms.txt, the pages of the documentation for language models: python scripts/llms.py > llms.txt."""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
_HEAD = """# Steelyard

> Scores an AI feature against ground truth. A suite file says what is asked, how answers are scored and which gates
> decide; runs are stored, compared and explained, and the exit code is the verdict.

Python 3.11 or newer. `steelyard init FOLDER` writes a suite that runs at once, `steelyard run FOLDER` scores it,
`steelyard COMMAND --help` lists options, and `--json` prints data.
"""
_ROW = re.compile(r"^\| (\[.+?) \| (.+?) \|$", re.M)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def llms_text(readme: str) -> str:
    """The sections of the documentation's index, a line for each page."""
    sections = [_HEAD]
    for section in readme.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        lines = []
        for pages, about in _ROW.findall(text):
            (name, link), *_ = _LINK.findall(pages)
            plain = _LINK.sub(r"\1", about)
            when = "when you " if "| when you |" in text else ""
            lines.append(f"- [{name}](docs/{link}): {when}{plain}\n")
        if lines:
            sections.append(f"## {title}\n\n{''.join(lines)}")
    return "\n".join(sections)


if __name__ == "__main__":
    sys.stdout.write(llms_text((DOCS / "README.md").read_text(encoding="utf-8")))

"""docs/other-tools.md, followed with the files that the other tools made."""

import shutil
from pathlib import Path

from parts.transcript import play

FILES = Path(__file__).parent / "files"
PAGE = Path(__file__).parents[2] / "docs" / "other-tools.md"


def test_the_page_on_other_tools_does_what_it_says(tmp_path):
    for name, place in (
        ("promptfoo.json", "results.json"),
        ("inspect.eval", "logs/capitals.eval"),
        ("inspect.json", "logs/capitals.json"),
        *((path.name, f"out/small/{path.name}") for path in FILES.glob("*2026-11-17T19-42-26*")),
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(FILES / name, tmp_path / place)
    assert play(PAGE.read_text(), tmp_path) == []

"""The bench measures whole commands; of other tools nothing is tested here."""

import json

import pytest

from bench.commands import Bench, tools
from bench.report import Figures, write_page


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    figures = Figures(folder / "figures.json")
    for name, tool in tools(None, lambda _: True):
        figures.version(name, tool.version)
        assert Bench(figures, folder / "work", most=60).run(tool, 20)
    return figures


@pytest.mark.parametrize("tool", ["Steelyard", "bare"])
def test_a_whole_command_is_measured_and_has_asked_and_scored_every_case_once(figures, tool):
    kept = figures.of(tool, "run 20")
    assert (kept["code"], kept["scored"], kept["answered"]) == (0, 20, 20)
    assert kept["wall"] > 0.05
    assert kept["cpu"] > 0
    assert kept["peak_mb"] > 5
    assert kept["bytes"] > 0


def test_the_page_says_what_was_measured_and_where_ours_does_not_lead(tmp_path):
    figures = Figures(tmp_path / "figures.json")
    spent = {"peak_mb": 50.0, "code": 0, "scored": 1000, "bytes": 600_000}
    figures.keep("Steelyard", "run 1000", spent | {"wall": 2.0, "cpu": 0.65})
    figures.keep("other", "run 1000", spent | {"wall": 1.0, "cpu": 1.3})
    figures.keep("bare", "run 1000", spent | {"wall": 0.75, "cpu": 0.4})
    figures.keep("slow", "run 1000", spent | {"wall": 120.0, "cpu": 9.0, "code": -9})
    figures.note("absent", "could not be installed: no such package")
    write_page(tmp_path / "page.md", Figures(tmp_path / "figures.json"), "today", "120 s")
    page = (tmp_path / "page.md").read_text()
    # 1,000 cases of 50 ms, 100 at once, take 0.5 s at the least.
    assert "| **Steelyard** | 4.00 |" in page
    assert "| bare aiohttp script | 1.50 |" in page
    assert "| slow | > 120 s |" in page
    assert "| absent | could not be installed: no such package |" in page
    behind = page.partition("does not lead")[2].partition("##")[0]
    assert "- wall, 1,000 cases: other 1 s, Steelyard 2 s; every answer is committed" in behind
    assert "CPU" not in behind
    assert json.loads((tmp_path / "figures.json").read_text())["absent"]

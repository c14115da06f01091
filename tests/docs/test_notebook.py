"""The notebook of the docs, run again by a real kernel: every cell works and shows what the stored one shows."""

import re
import runpy
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]
RUNS = runpy.run_path(str(ROOT / "scripts/notebook.py"))


def shape(notebook):
    """By code cell, the outputs with the forms that each comes in."""
    return [
        [(output.output_type, sorted(output.get("data", ()))) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_notebook_runs_and_shows_what_is_stored():
    stored = nbformat.read(RUNS["NOTEBOOK"], as_version=4)
    again = RUNS["executed"]("suite.run(repeats=200, show_progress=True)")
    with_progress = again.cells.pop()
    nbformat.validate(stored)
    assert [cell.source for cell in again.cells] == [cell.source for cell in stored.cells]
    # A run, a comparison and a history are one HTML block each, a chart is a picture, and nothing comes by itself.
    html = ("execute_result", ["text/html", "text/plain"])
    texts, picture = ("stream", []), ("execute_result", ["image/svg+xml", "text/plain"])
    assert shape(again) == [[], [html], [texts], [texts], [html], [html], [html], [picture]]
    assert shape(stored) == shape(again)
    # Progress is one output, whatever it says.
    assert [output.output_type for output in with_progress.outputs] == ["stream", "execute_result"]
    outputs = [output for cell in again.cells for output in cell.get("outputs", ())]
    blocks = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", ())]
    for block, word in zip([blocks[0], *blocks[2:]], ("FAIL", "CANNOT TELL", "History of capitals"), strict=True):
        assert block.startswith('<div class="steelyard')
        assert word in block
    assert "66.7 % is not &gt;= 90.0 %" in blocks[0]


def test_the_stored_notebook_names_no_machine():
    text = RUNS["NOTEBOOK"].read_text(encoding="utf-8")
    assert re.findall(r"(?<![<\w:/])/(?:home|root|tmp|usr|var|work|Users)/", text) == []
    assert len(text) < 150_000

"""Runs the notebook of the docs again and writes it with what it shows: python scripts/notebook.py"""

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs/notebooks/first-run.ipynb"


def executed(*more: str) -> nbformat.NotebookNode:
    """The notebook with new outputs, run by a real kernel in an empty folder; an error of a cell is raised.

    `more` are further cells at its end.
    """
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in more]
    with TemporaryDirectory(prefix="steelyard-") as folder:
        client = NotebookClient(notebook, timeout=120, kernel_name="python3", record_timing=False)
        return client.execute(cwd=folder)


if __name__ == "__main__":
    notebook = executed()
    # The version of Python is that of whoever ran it last.
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(notebook, NOTEBOOK)

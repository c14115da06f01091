"""What a suite's own code is known by: its file and the files it is made of, wherever in its package they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard import suite_code
from steelyard.suite_code import find_callable, source_digest
from steelyard.suites.tarot.rules import judge

HELPER = "def score(text):\n    return 3\n"


def digest_of(folder: Path, written: str, helper: str, at: str = "pack/helper.py", main: str = "pack.main") -> str:
    """The digest of a judge in a package whose helper is written so."""
    path = folder / f"{main.replace('.', '/')}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    for one in (folder / "pack", path.parent, (folder / at).parent):
        one.mkdir(exist_ok=True)
        (one / "__init__.py").write_text("")
    (folder / at).write_text(helper)
    path.write_text(f"{written}\n\ndef judge(text, case, metrics):\n    return {{}}\n")
    found = source_digest(find_callable(f"{main}:judge", folder, "judge"))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "written",
    ["from pack.helper import score", "import pack.helper", "from pack import helper", "from .helper import score"],
)
def test_a_helper_of_the_same_package_is_part_of_the_source(tmp_path, written):
    before = digest_of(tmp_path, written, HELPER)
    assert digest_of(tmp_path, written, HELPER) == before
    assert digest_of(tmp_path, written, HELPER.replace("3", "5 if text else 1")) != before


def test_a_helper_of_a_package_is_found_from_a_folder_further_down(tmp_path):
    written = "from pack.helper import score"
    before = digest_of(tmp_path, written, HELPER, main="pack.inner.main")
    assert digest_of(tmp_path, written, HELPER.replace("3", "5"), main="pack.inner.main") != before


def test_a_file_that_is_not_imported_is_no_part_of_the_source(tmp_path):
    before = digest_of(tmp_path, "from pack.helper import score", HELPER)
    (tmp_path / "pack" / "other.py").write_text("x = 1")
    (tmp_path / "helper.py").write_text("x = 1")
    assert digest_of(tmp_path, "from pack.helper import score", HELPER) == before


def test_what_steelyard_is_made_of_is_no_part_of_the_source_of_a_suite():

    files = suite_code._read_with(Path(judge.__code__.co_filename), data=True)
    assert {file.parent.name for file in files} == {"tarot"}
    assert len(files) > 5


def test_code_that_was_edited_is_the_code_that_is_used_as_its_digest_says(tmp_path):
    def judge_with(helper: str):
        (tmp_path / "helper_of_judge.py").write_text(helper)
        return find_callable("judge_with_helper:judge", tmp_path, "judge")

    (tmp_path / "judge_with_helper.py").write_text("from helper_of_judge import score\n\njudge = lambda: score('')\n")
    first = judge_with(HELPER)
    assert find_callable("judge_with_helper:judge", tmp_path, "judge") is first
    edited = judge_with(HELPER.replace("3", "5 if text else 1"))
    assert (first(), edited()) == (3, 1)

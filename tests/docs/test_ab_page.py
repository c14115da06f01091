"""The guide on A/Bs does what it says, and names every key of an experiment's file."""

import re
from pathlib import Path

from parts.processes import ENVIRONMENT
from parts.transcript import play
from steelyard.experiments.outcomes import ColumnsPart, OnlinePart, OutcomePart, SaltsPart

PAGE = Path(__file__).parents[2] / "docs" / "ab.md"


def test_the_page_on_ab_does_what_it_says(tmp_path):
    assert play(PAGE.read_text(encoding="utf-8"), tmp_path, {"PYTHONPATH": ENVIRONMENT["PYTHONPATH"]}) == []


def test_every_key_of_an_experiments_file_is_documented():
    text = PAGE.read_text(encoding="utf-8").partition("| key of the file | meaning |")[2]
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    for part in (OnlinePart, OutcomePart, SaltsPart, ColumnsPart):
        assert set(part.model_fields) <= told

"""The spans of one case in their places: the gold ones, and those of an answer as its judge is given them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from steelyard import Case
from steelyard.spans import OffsetUnit, Spans, read_spans

from .prompt_sections import sections_in

OFFSETS: Final[OffsetUnit] = "utf16"
"""What the offsets of gold and answers count; `suite.yaml` says the same."""


def gold_spans(case: Case) -> Spans | None:
    """The gold spans of a case; None when nobody labelled it. An empty list says that there is nothing to label."""
    given = case.expected.get("spans") if isinstance(case.expected, dict) else None
    return None if given is None else placed(given, case)


def answer_spans(text: str, case: Case) -> Spans:
    """The spans of an answer from what its judge is given: their list as JSON."""
    items = json.loads(text)
    if not isinstance(items, list):
        raise ValueError("what is judged is no list of spans")
    return placed(items, case)


def placed(items: Sequence[Any], case: Case) -> Spans:
    """Spans of a list in their places in the prompt, each with its section."""
    prompt: str = case.input["text"]
    return read_spans(items, prompt, offsets=OFFSETS, sections=sections_in(prompt))

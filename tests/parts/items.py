"""A scorer of items in groups, answers and cases for it, and a suite around it."""

from __future__ import annotations

from steelyard.scoring.items.match import MatchItems
from steelyard.suite.case import Case

SHAPES = [
    {"items": "boxes[].parts[]", "text": "text", "group": "label", "box": "at"},
    {"items": "parts[]", "text": "text", "group": "row", "box": "at", "regions": "rows"},
]
CODES = {"missed": "MISS", "extra": "HALLUC", "fragment": "PARTIAL", "wrong_text": "OCR", "wrong_group": "SPATIAL"}
LEFT = ["To be free from pain", "To have my financial affairs in order", "Wild Part"]
RIGHT = ["To keep my sense of humor", "To sleep at home"]
TRUTH = {"boxes": [{"label": "left", "parts": LEFT}, {"label": "right", "parts": RIGHT}]}


def scorer(**more):
    expected = {"items": "expected.boxes[].parts[]", "text": "text", "group": "label", "box": "at"}
    return MatchItems.model_validate({"expected": expected, "shapes": SHAPES, "codes": CODES} | more)


def answer(*groups):
    """An answer with its groups named A, B, ..."""
    return {"boxes": [{"label": chr(65 + at), "parts": list(parts)} for at, parts in enumerate(groups)]}


def case(truth=TRUTH, **more):
    return Case("one", expected=truth, **more)


def codes(reading):
    """Each fault by its text, with the codes that fit it and what fixing it would gain."""
    return {(fault.expected, fault.got): dict(fault.codes) for fault in reading.faults}


SUITE = """
suite: parts
cases: cases.json
target: {{recorded: answers.jsonl}}
answer: {{format: json, repair: false}}
score:
  parts:
    match_items:
      expected: {{items: "expected.boxes[].parts[]", text: text, group: label}}
      shapes: [{{items: "boxes[].parts[]", text: text, group: label}}]
      codes: {{missed: MISS, extra: HALLUC, fragment: PARTIAL, wrong_text: OCR, wrong_group: SPATIAL}}
findings:
{findings}
"""

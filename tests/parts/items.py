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
    """Each error by its text, with the codes that fit it and what fixing it would gain."""
    return {(fits[0].expected, fits[0].got): {one.code: one.gain for one in fits} for fits in errors(reading)}


def errors(reading):
    """For each error its findings, one per code that fits."""
    return [one if isinstance(one, tuple) else (one,) for one in reading.findings]


def told(reading):
    """Every error, whatever its order: the codes that fit it, what was expected and what came."""
    return sorted(
        (sorted(one.code for one in fits), str(fits[0].expected), str(fits[0].got)) for fits in errors(reading)
    )


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

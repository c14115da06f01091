"""`steelyard.spans`: spans of a text for suites written in Python.

`read_spans` puts the spans of a list in their places in a text, `compare_spans` holds those of an answer against the
gold ones, `sections_of` finds named regions, `convert_offset` counts a place in another unit.
"""

from steelyard.scoring.spans.compare import SpanMatching, match_spans, overlap
from steelyard.scoring.spans.errors import SpanError
from steelyard.scoring.spans.match import MatchSpans
from steelyard.scoring.spans.offsets import OffsetError, OffsetUnit, TextOffsets, convert_offset
from steelyard.scoring.spans.read import LostSpan, Spans, SpansLayout, TextSpan, read_spans
from steelyard.scoring.spans.schemes import (
    MacroMean,
    PrecisionRecall,
    SchemeCounts,
    SpanComparison,
    compare_spans,
    macro,
    micro,
)
from steelyard.scoring.spans.sections import MAIN, section_at, sections_of

__all__ = [
    "MAIN",
    "LostSpan",
    "MacroMean",
    "MatchSpans",
    "OffsetError",
    "OffsetUnit",
    "PrecisionRecall",
    "SchemeCounts",
    "SpanComparison",
    "SpanError",
    "SpanMatching",
    "Spans",
    "SpansLayout",
    "TextOffsets",
    "TextSpan",
    "compare_spans",
    "convert_offset",
    "macro",
    "match_spans",
    "micro",
    "overlap",
    "read_spans",
    "section_at",
    "sections_of",
]

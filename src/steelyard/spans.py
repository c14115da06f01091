"""`steelyard.spans`: spans of a text for suites written in Python.

`read_spans` puts the spans of a list in their places in a text, `compare_spans` holds those of an answer against the
gold ones, `sections_of` finds named regions, `convert_offset` counts a place in another unit.
"""

from steelyard.scoring.match_spans import MatchSpans
from steelyard.scoring.offsets import OffsetError, OffsetUnit, TextOffsets, convert_offset
from steelyard.scoring.sections import MAIN, section_at, sections_of
from steelyard.scoring.span_errors import SpanError
from steelyard.scoring.span_matching import SpanMatching, match_spans, overlap
from steelyard.scoring.span_reading import LostSpan, Spans, SpansLayout, TextSpan, read_spans
from steelyard.scoring.span_schemes import (
    Figures,
    Mean,
    SchemeCounts,
    SpanComparison,
    compare_spans,
    macro,
    micro,
)

__all__ = [
    "MAIN",
    "Figures",
    "LostSpan",
    "MatchSpans",
    "Mean",
    "OffsetError",
    "OffsetUnit",
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

"""`steelyard.spans`: spans of a text for suites written in Python.

`read_spans` puts the spans of a list in their places in a text, `compare_spans` holds those of an answer against the
gold ones, `sections_of` finds named regions, `convert_offset` counts a place in another unit.
"""

from steelyard.scoring.spans.compare import (
    Figures,
    Mean,
    SchemeCounts,
    SpanComparison,
    SpanError,
    SpanMatching,
    compare_spans,
    macro,
    match_spans,
    micro,
    overlap,
)
from steelyard.scoring.spans.match import MatchSpans
from steelyard.scoring.spans.read import (
    MAIN,
    LostSpan,
    OffsetError,
    OffsetUnit,
    Spans,
    SpansLayout,
    TextOffsets,
    TextSpan,
    convert_offset,
    read_spans,
    section_at,
    sections_of,
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

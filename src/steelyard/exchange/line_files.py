"""Results with a record a line: samples of lm-eval, records of OpenAI evals, and plain tables in JSONL or CSV."""

from __future__ import annotations

from pathlib import Path

from steelyard.exchange.lm_eval import read_lm_eval
from steelyard.exchange.openai_events import read_events
from steelyard.exchange.plain_tables import read_table
from steelyard.exchange.results import (
    ResultFile,
    opening,
    records_of,
)
from steelyard.suite.streams import ending


def read(path: Path) -> ResultFile | None:
    """The results, or None when the file is of none of these forms."""
    if ending(path) == ".csv":
        return read_table(path)
    if not opening(path).startswith("{"):
        return None
    first = next(records_of(path), None) if ending(path) in (".jsonl", ".ndjson") else None
    if not isinstance(first, dict):
        return None
    if "spec" in first and "run_config" in first["spec"]:
        return read_events(path, first["spec"])
    return read_lm_eval(path) if {"doc_id", "resps"} <= first.keys() else read_table(path)

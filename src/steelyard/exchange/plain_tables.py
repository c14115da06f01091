"""A plain table of results: per row a question with its answer, what was expected, and a score that somebody gave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.exchange.results import ResultFile, ResultSample, as_text, asked, case_id, grade, records_of
from steelyard.suite.case import Case

_NO_ERROR = ("", "false", "no", "0", "0.0", "none", "null", "nan")
"""What a column of errors holds of an answer that came."""
_COLUMNS = {
    "id": ("id", "case", "case_id"),
    "question": ("question", "input", "prompt", "query"),
    "answer": ("answer", "output", "response", "completion", "prediction"),
    "expected": ("expected", "expected_output", "reference", "target", "ideal", "truth", "ground_truth", "label"),
    "score": ("score", "grade", "correct", "passed"),
    "error": ("error", "failure", "failed"),
    **{name: (name,) for name in ("category", "variant", "model", "latency", "tokens_in", "tokens_out", "cost")},
}


def read_table(path: Path) -> ResultFile | None:
    """The results of a table; None when it has no column of questions and answers."""
    first = next(records_of(path), None)
    columns = _by_column(first) if isinstance(first, dict) else {}
    if not columns.keys() & {"answer", "error"} or not columns.keys() & {"id", "question"}:
        return None
    return ResultFile(
        tool="another tool",
        version="",
        name=path.name.partition(".")[0],
        samples=lambda: (_row(_by_column(row)) for row in records_of(path)),
        scorers={"score": "score"},
    )


def _by_column(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row holds under the names that its columns stand for."""
    cells = {str(heading).strip().lower(): cell for heading, cell in row.items()}
    return {
        name: cells[heading] for name, headings in _COLUMNS.items() for heading in headings[::-1] if heading in cells
    }


def _row(cells: Mapping[str, Any]) -> ResultSample:
    question, expected, error = cells.get("question"), cells.get("expected"), cells.get("error")
    error = None if str(error).strip().lower() in _NO_ERROR else error
    name = str(cells["id"]) if cells.get("id") not in (None, "") else case_id([question, expected], as_text(question))
    score = None if error else grade(cells.get("score"))
    # An empty cell with a score is an answer that says nothing; without one it is no answer.
    answer = cells.get("answer") if score is None or cells.get("answer") is not None else ""
    amounts = (grade(cells.get(key)) for key in ("latency", "cost", "tokens_in", "tokens_out"))
    latency, cost, *tokens = (None if amount is None or amount < 0 else amount for amount in amounts)
    tokens_in, tokens_out = (int(n) if n is not None and n.is_integer() else None for n in tokens)
    category, model = (None if cells.get(key) is None else str(cells[key]) for key in ("category", "model"))
    return ResultSample(
        case=Case(name, None if question is None else asked(question), expected, category),
        answer=None if error or answer is None else as_text(answer),
        failure=as_text(error) if error else "" if answer is not None else "the row has no answer",
        scores={} if score is None else {"score": score},
        score=score,
        variant=str(cells.get("variant") or ""),
        model=model,
        latency=latency,
        cost=cost,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )

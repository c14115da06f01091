"""What became of the expectations of answers: one row a sample, so that a run without any has nothing to read.

A row holds `[["count","colour:red"],"pf",["3 of 2 to 4","not there"],[[0,3.0,2.0,4.0]]]`: of each check its name, its
state (passed, failed or not run by the first letter) and its detail, then of those that compare a figure with a range
the position, the figure and both ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from steelyard.records import Check, CheckState
from steelyard.store.base import Checks
from steelyard.store.database import Row, Session
from steelyard.store.places import codes_of, places_of
from steelyard.store.text import to_json

if TYPE_CHECKING:
    import numpy as np

PIECE = 500
"""Samples read at a time."""

_CHECKS = "SELECT seq, content FROM checks WHERE run = ? ORDER BY seq"
_LETTERS = {CheckState.PASSED: "p", CheckState.FAILED: "f", CheckState.NOT_RUN: "n"}
_STATES = {letter: state for state, letter in _LETTERS.items()}
_NO_FIGURES = (None, None, None)


def checks_text(checks: Sequence[Check]) -> str:
    """The checks of one answer as they are stored."""
    figures = [[position, *found] for position, check in enumerate(checks) if (found := _figures(check)) != _NO_FIGURES]
    return to_json(
        [
            [check.name for check in checks],
            "".join([_LETTERS[check.state] for check in checks]),
            [check.detail for check in checks],
            figures,
        ]
    )


def checks_from(text: str) -> tuple[Check, ...]:
    """The checks back from `checks_text`."""
    names, states, details, figures = json.loads(text)
    # A figure that is not finite was written as its name.
    told = {position: [None if one is None else float(one) for one in found] for position, *found in figures}
    return tuple(
        Check(name, _STATES[state], detail, *told.get(position, _NO_FIGURES))
        for position, (name, state, detail) in enumerate(zip(names, states, details, strict=True))
    )


def _figures(check: Check) -> tuple[float | None, float | None, float | None]:
    return (real_or_none(check.value), real_or_none(check.low), real_or_none(check.high))


def real_or_none(number: float | None) -> float | None:
    """The number as a float, infinite when it is a whole number beyond all floats; None stays None."""
    if number is None:
        return None
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def read_checks(session: Session, run: int) -> Checks:
    """All checks of a run as columns, in the order of its plan."""
    import numpy as np

    columns: list[tuple[np.ndarray, ...]] = [_no_checks()]
    names: dict[str, int] = {}
    details: dict[str, int] = {}
    for sample, rows in _pieces(session, run):
        # The states are numbered in the order of the members, as `_LETTERS` lists them.
        parsed = json.loads(f"[{','.join([text for _seq, text in rows])}]")
        told, states, said, figures = zip(*parsed, strict=True)
        lengths = np.fromiter(map(len, states), np.int64, len(states))
        columns.append(
            (
                np.repeat(sample, lengths),
                codes_of(list(chain.from_iterable(told)), names),
                _state_codes("".join(states)),
                codes_of(list(chain.from_iterable(said)), details),
                *_figure_columns(lengths, figures),
            )
        )
    sample, name, state, detail, value, low, high = map(np.concatenate, zip(*columns, strict=True))
    return Checks(
        sample=sample,
        name=name,
        names=list(names),
        state=state,
        states=[state.value for state in CheckState],
        detail=detail,
        details=list(details),
        value=value,
        low=low,
        high=high,
    )


def _pieces(session: Session, run: int) -> Iterator[tuple[np.ndarray, list[Row]]]:
    """Some rows at a time, with the position of each sample."""
    import numpy as np

    places: np.ndarray | None = None
    for rows in session.stream(_CHECKS, (run,), PIECE):
        if places is None:
            places = places_of(session, run)
        yield np.searchsorted(places, [seq for seq, _text in rows]).astype(np.uint32), rows


def _no_checks() -> tuple[np.ndarray, ...]:
    """The columns of no checks, which the type of all others follows."""
    import numpy as np

    codes = np.zeros(0, dtype=np.uint32)
    return (codes, codes, np.zeros(0, dtype=np.uint8), codes, *[np.zeros(0)] * 3)


def _state_codes(letters: str) -> np.ndarray:
    import numpy as np

    codes = np.zeros(128, dtype=np.uint8)
    for code, state in enumerate(CheckState):
        codes[ord(_LETTERS[state])] = code
    found: np.ndarray = codes[np.frombuffer(letters.encode(), dtype=np.uint8)]
    return found


def _figure_columns(lengths: np.ndarray, figures: Sequence[list[list[Any]]]) -> Iterator[np.ndarray]:
    """The figures of the checks of some samples and both ends of their ranges; NaN where there are none."""
    import numpy as np

    starts = np.cumsum(lengths) - lengths
    where = [start + position for start, found in zip(starts.tolist(), figures, strict=True) for position, *_ in found]
    told = np.array([numbers for found in figures for _, *numbers in found], dtype=float).reshape(-1, 3)
    for column in range(3):
        numbers = np.full(int(lengths.sum()), np.nan)
        numbers[where] = told[:, column]
        yield numbers

"""A test over many values that is one test: thousands of tests of a millisecond take a minute to collect and report."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

_UNDECIDED = (pytest.fail.Exception, pytest.skip.Exception)
"""To pytest these are no `Exception`; a value that is skipped would end the test of all that follow."""


def for_every(
    names: str | Sequence[str], values: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with every one of the values and report all that fail; written as `pytest.mark.parametrize` is.

    For tests that take no fixture of their own and leave nothing behind; others are parametrised.
    """
    single = isinstance(names, str)
    names = [names] if isinstance(names, str) else list(names)
    rows = [(value,) if single else tuple(value) for value in values]
    assert rows, "a test of no value tests nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def over_all(*self: Any, **fixtures: Any) -> None:
            problems = []
            for row in rows:
                given = dict(zip(names, row, strict=True))
                try:
                    test(*self, **fixtures, **given)
                except (Exception, *_UNDECIDED) as problem:  # noqa: BLE001 - reported below
                    problem.add_note(f"with {str(given)[:400]}")
                    problems.append(problem)
            if problems:
                raise BaseExceptionGroup(f"{len(problems)} of {len(rows)} values fail", problems)

        del over_all.__wrapped__  # type: ignore[attr-defined]
        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in names]
        over_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return over_all

    return decorate

"""`steelyard.scorers`: every registered scorer as a function, for suites written in Python.

    scorers.exact(expected="expected.text", weight=2)

gives the plain data `{"exact": {"expected": "expected.text"}, "weight": 2}`, as a suite file spells it; it is checked
when the suite is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard import registry

OPTIONS = ("weight", "when_unknown", "wrong_below", "code", "scale")
"""What goes to the component and not to its scorer."""

Factory = Callable[..., dict[str, Any]]


def __getattr__(name: str) -> Factory:
    if name not in registry.names("scorers"):
        raise AttributeError(f"there is no scorer {name!r}; there are: {', '.join(registry.names('scorers'))}")

    def factory(**given: Any) -> dict[str, Any]:
        options = {key: value for key, value in given.items() if key in OPTIONS}
        return {name: {key: value for key, value in given.items() if key not in OPTIONS}, **options}

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = f"A component scored by `{name}`; parameters as in a suite file, and {', '.join(OPTIONS)}."
    return factory


def __dir__() -> list[str]:
    return registry.names("scorers")

"""One registry for scorers, targets and checks: built-ins and plug-ins are found the same way.

A plug-in package declares an entry point in the group `steelyard.scorers`, `steelyard.targets` or `steelyard.checks`:

    [project.entry-points."steelyard.scorers"]
    my_scorer = "my_package.scoring:MyScorer"

Nothing is imported before it is asked for by name.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from steelyard.errors import UserMistake

_BUILT_IN = {
    "scorers": {
        "alternatives": "steelyard.scoring.alternatives:Alternatives",
        "choice": "steelyard.scoring.text:Choice",
        "contains": "steelyard.scoring.text:Contains",
        "exact": "steelyard.scoring.text:Exact",
        "fields": "steelyard.scoring.structure:Fields",
        "json_schema": "steelyard.scoring.structure:JsonSchema",
        "keywords_or_fuzzy": "steelyard.scoring.keywords:KeywordsOrFuzzy",
        "match_items": "steelyard.scoring.match_items:MatchItems",
        "match_spans": "steelyard.scoring.match_spans:MatchSpans",
        "money_range": "steelyard.scoring.money:MoneyRange",
        "number": "steelyard.scoring.number:Number",
        "regex": "steelyard.scoring.pattern:Regex",
        "year_range": "steelyard.scoring.years:YearRange",
    },
    "targets": {
        "chat": "steelyard.targets.chat:ChatTarget",
        "command": "steelyard.targets.command:CommandTarget",
        "http": "steelyard.targets.http:HttpTarget",
        "python": "steelyard.targets.python:PythonTarget",
        "recorded": "steelyard.targets.recorded:RecordedTarget",
    },
    "checks": {
        "count": "steelyard.scoring.check_values:CountCheck",
        "each": "steelyard.scoring.check_values:EachCheck",
        "none": "steelyard.scoring.check_values:NoneCheck",
        "path": "steelyard.scoring.check_path:PathCheck",
        "status": "steelyard.scoring.check_status:StatusCheck",
    },
    # The scorer of all checks together; nobody chooses it by name.
    "expectations": {"expect": "steelyard.scoring.expectations:Expectations"},
    # The settings of a judge that is asked; who asks it is not chosen by name.
    "judges": {"chat": "steelyard.targets.chat_connection:ChatConnection"},
}


@cache
def _places(kind: str) -> dict[str, str]:
    places = {point.name: point.value for point in entry_points(group=f"steelyard.{kind}")}
    return places | _BUILT_IN[kind]


def names(kind: str) -> list[str]:
    """All names known for `scorers`, `targets` or `checks`, sorted."""
    return sorted(_places(kind))


def built_in(kind: str) -> frozenset[str]:
    """The names of what comes with Steelyard, whose behaviour is known."""
    return frozenset(_BUILT_IN[kind])


def find(kind: str, name: str) -> Any:
    """The class behind a name; KeyError when there is none, UserMistake when its module cannot be imported."""
    place = _places(kind)[name]
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UserMistake(f"{kind[:-1]} {name!r} is declared at {place}, which cannot be imported: {error}") from error

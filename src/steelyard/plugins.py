"""One registry for scorers, targets and checks: built-ins and plug-ins are found the same way, and features by name."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from steelyard.errors import UsageError

PROVIDERS = ("anthropic", "gemini", "bedrock")
"""Modules of `targets`: in `gemini`, `GeminiTarget` is the target `gemini`, and `GeminiConnection` the judge."""


def _classes(what: str) -> dict[str, str]:
    return {name: f"steelyard.targets.{name}:{name.capitalize()}{what}" for name in PROVIDERS}


_BUILT_IN = {
    "scorers": {
        "alternatives": "steelyard.scoring.aliases:Alternatives",
        "choice": "steelyard.scoring.text:Choice",
        "contains": "steelyard.scoring.text:Contains",
        "exact": "steelyard.scoring.text:Exact",
        "fields": "steelyard.scoring.structure:Fields",
        "item_set": "steelyard.scoring.sets:ItemSet",
        "json_schema": "steelyard.scoring.structure:JsonSchema",
        "keywords_or_fuzzy": "steelyard.scoring.names:KeywordsOrFuzzy",
        "match_items": "steelyard.scoring.items.match:MatchItems",
        "match_spans": "steelyard.scoring.spans.match:MatchSpans",
        "money_range": "steelyard.scoring.money:MoneyRange",
        "number": "steelyard.scoring.numbers:Number",
        "ordinal": "steelyard.scoring.text:Ordinal",
        "regex": "steelyard.scoring.text:Regex",
        "retrieval": "steelyard.scoring.retrieval:Retrieval",
        "similarity": "steelyard.scoring.similarity:Similarity",
        "subset": "steelyard.scoring.sets:Subset",
        "year_range": "steelyard.scoring.years:YearRange",
    },
    "targets": {
        **_classes("Target"),
        "chat": "steelyard.targets.chat:ChatTarget",
        "command": "steelyard.targets.command:CommandTarget",
        "http": "steelyard.targets.http:HttpTarget",
        "python": "steelyard.targets.python:PythonTarget",
        "recorded": "steelyard.targets.recorded:RecordedTarget",
    },
    "checks": {
        "count": "steelyard.scoring.list_checks:CountCheck",
        "each": "steelyard.scoring.list_checks:EachCheck",
        "none": "steelyard.scoring.list_checks:NoneCheck",
        "path": "steelyard.scoring.checks:PathCheck",
        "status": "steelyard.scoring.status_check:StatusCheck",
    },
    # The scorer of all checks together; nobody chooses it by name.
    "expectations": {"expect": "steelyard.scoring.expectations:Expectations"},
    # The scorers that plain functions become.
    "functions": {
        "measure": "steelyard.scoring.functions:FunctionMeasure",
        "python": "steelyard.scoring.functions:FunctionScorer",
    },
    # The settings of a judge that is asked; who asks it is not chosen by name.
    "judges": {
        **_classes("Connection"),
        "chat": "steelyard.targets.model_address:ChatConnection",
    },
    # Those of a model that a scorer needs, which a run asks.
    "models": {"embeddings": "steelyard.targets.embeddings:EmbeddingsConnection"},
    # What the kernel takes from features, which it does not import: one line per function.
    "features": {
        "contested_cases": "steelyard.people.experts:contested_in",
        "import_file": "steelyard.exchange.imports:import_foreign",
        "spread": "steelyard.cluster.spread:spread",
        "spread_scoring": "steelyard.cluster.spread:spread_scoring",
        "to_arrow": "steelyard.tables.arrow:table_of",
        "to_own_format": "steelyard.exchange.imports:document_of",
        "to_pandas": "steelyard.tables.frames:to_pandas",
        "to_polars": "steelyard.tables.frames:to_polars",
    },
}


@cache
def _places(kind: str) -> dict[str, str]:
    from importlib.metadata import entry_points  # takes longer to import than the whole command line

    places = {point.name: point.value for point in entry_points(group=f"steelyard.{kind}")}
    return places | _BUILT_IN[kind]


def names(kind: str) -> list[str]:
    """All names known for `scorers`, `targets` or `checks`, sorted."""
    return sorted(_places(kind))


def is_known(kind: str, name: str) -> bool:
    """Whether there is a scorer, target or check of that name; packages are searched only when none of ours has it."""
    return name in _BUILT_IN[kind] or name in _places(kind)


def built_in(kind: str) -> frozenset[str]:
    """The names of what comes with Steelyard, whose behaviour is known."""
    return frozenset(_BUILT_IN[kind])


def find(kind: str, name: str) -> Any:
    """The class behind a name; KeyError when there is none, UsageError when its module cannot be imported."""
    place = _BUILT_IN[kind].get(name) or _places(kind)[name]
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{kind[:-1]} {name!r} is declared at {place}, which cannot be imported: {error}") from error

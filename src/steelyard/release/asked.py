"""Gates given on the command line, checked against what a stored run has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.analysis.model import Summary
from steelyard.errors import UserMistake
from steelyard.suite.gate_checks import Known, check_gate
from steelyard.suite.gates import parse_gate
from steelyard.suite.stability import PRESENCE


def known_in(suite: dict[str, Any], slices: Mapping[str, Sequence[str]] | None) -> Known:
    """What gates may speak of in a suite as runs describe it; `slices` are the names by factor that its cases have."""
    return Known(
        # Runs that were stored before scorers had measures do not list any.
        components={
            component["name"]: [*component.get("measures", ()), *component.get("means", ())]
            for component in suite["components"]
        },
        means={component["name"]: list(component.get("means", ())) for component in suite["components"]},
        codes=[kind["code"] for kind in suite["taxonomy"]],
        bands=[band["name"] for band in suite["bands"]],
        slices=slices,
        passing=suite["passing"] is not None,
        checks=[check["name"] for check in (suite.get("expect") or {}).get("checks", ())],
        stability=[] if not suite.get("stability") else [PRESENCE, *suite["stability"]["fields"]],
        scales={component["name"]: tuple(component["scale"]) for component in suite["components"]},
    )


def check_on_run(gates: Sequence[str], suite: dict[str, Any], summary: Summary) -> None:
    """UserMistake with all that is wrong: a metric or a name that the run does not have, a gate that cannot fail."""
    known = known_of(suite, summary)
    mistakes = []
    for text in gates:
        try:
            mistake = check_gate(parse_gate(text), known)
        except ValueError as error:
            mistake = str(error)
        if mistake:
            mistakes.append(mistake)
    if mistakes:
        raise UserMistake("\n".join(mistakes))


def known_of(suite: dict[str, Any], summary: Summary) -> Known:
    """The names that gates may speak of in a stored run."""
    return known_in(suite, {factor: [group.name for group in groups] for factor, groups in summary.slices.items()})

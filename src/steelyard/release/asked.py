"""Gates given on the command line, checked against what a stored run has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.analysis.model import Summary
from steelyard.errors import UserMistake
from steelyard.suite.gates import check_gate, parse_gate


def check_on_run(gates: Sequence[str], suite: dict[str, Any], summary: Summary) -> None:
    """UserMistake with all that is wrong: a metric or a name that the run does not have, a gate that cannot fail."""
    mistakes = []
    for text in gates:
        try:
            gate = parse_gate(text)
        except ValueError as error:
            mistakes.append(str(error))
            continue
        mistake = check_gate(
            gate,
            components=[component["name"] for component in suite["components"]],
            codes=[kind["code"] for kind in suite["taxonomy"]],
            bands=[band["name"] for band in suite["bands"]],
            slices={factor: [group.name for group in groups] for factor, groups in summary.slices.items()},
            passing=suite["passing"] is not None,
        )
        if mistake:
            mistakes.append(mistake)
    if mistakes:
        raise UserMistake("\n".join(mistakes))

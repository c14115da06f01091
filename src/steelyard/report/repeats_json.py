"""What came of checks over repeats, and how alike repeats are, as plain data with stable names."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from steelyard.analysis.checks_model import ChecksFigures
from steelyard.analysis.stability_model import CellStability, StabilityFigures, band_of


def checks_data(found: ChecksFigures) -> dict[str, Any]:
    """The figures; of each cell also how many repeats every check was planned for, and whether it is flaky."""
    data = asdict(found)
    data["all_of"] = {str(k): estimate for k, estimate in data["all_of"].items()}
    for cell, told in zip(found.cells, data["cells"], strict=True):
        told["flaky"] = cell.flaky
        for check, of_check in zip(cell.checks, told["checks"], strict=True):
            of_check["n"] = check.n
    return data


def stability_data(found: StabilityFigures) -> dict[str, Any]:
    """The figures, with the band that each of them is in."""
    bands = {"presence": band_of(found.presence.value)}
    bands |= {name: band_of(estimate.value) for name, estimate in found.fields.items()}
    return asdict(found) | {"bands": bands, "cells": [_cell(cell) for cell in found.cells]}


def _cell(cell: CellStability) -> dict[str, Any]:
    bands = {name: band_of(estimate.value) for name, estimate in cell.fields.items()}
    return asdict(cell) | {"bands": {"presence": band_of(cell.presence.value), **bands}}

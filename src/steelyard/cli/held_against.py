"""What a command that was given --against prints besides the verdict: how the run compares with the baseline."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.analysis.compare_model import Comparison
    from steelyard.decide.baselines import Reference
    from steelyard.records import RunHeader
    from steelyard.report.document import Block
    from steelyard.store.base import Store


def compare_with(store: Store, header: RunHeader, reference: Reference, *, anyway: bool) -> Comparison:
    """The run compared with the one behind a baseline, which is A, and why the headline number moved."""
    from steelyard.cli.attribution_options import AttributionOptions
    from steelyard.decide.baselines import home_of

    before = (home_of(reference, reference.run_id, store), reference.run_id)
    # Nothing is bought here, so that no other store is opened.
    return AttributionOptions().compared(before, (store, header.id), None, ExitStack(), anyway=anyway)


def against_data(comparison: Comparison | None) -> dict[str, Any]:
    """What JSON output has more: the whole comparison under `against`."""
    if comparison is None:
        return {}
    from steelyard.report.compare import data

    return {"against": data(comparison)}


def against_blocks(comparison: Comparison | None, label: str) -> list[Block]:
    """The answer of the comparison, how sure it is and what moved; nothing where nothing was compared."""
    if comparison is None:
        return []
    from steelyard.report.compare import answer
    from steelyard.report.document import Section

    return [Section(f"Against {label} (A, run {comparison.a.id})", answer(comparison))]

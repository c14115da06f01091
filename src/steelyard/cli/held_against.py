"""What a command that was given --against prints besides the verdict: how the run compares with the baseline."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.analysis.compare_model import Comparison
    from steelyard.records import RunHeader
    from steelyard.release.baseline_gates import Reference
    from steelyard.store.base import Store


def compare_with(store: Store, header: RunHeader, reference: Reference, *, anyway: bool) -> Comparison:
    """The run compared with the one behind a baseline, which is A, and why the headline number moved."""
    from steelyard.cli.attribution_options import AttributionOptions
    from steelyard.release.baseline_gates import home_of

    before = (home_of(reference, reference.run_id, store), reference.run_id)
    # Nothing is bought here, so that no other store is opened.
    return AttributionOptions().compared(before, (store, header.id), None, ExitStack(), anyway=anyway)


def against_data(comparison: Comparison | None) -> dict[str, Any]:
    """What JSON output has more: the whole comparison under `against`."""
    if comparison is None:
        return {}
    from steelyard.report.compare_json import comparison_to_json

    return {"against": comparison_to_json(comparison)}


def print_against(comparison: Comparison | None, reference: Reference | None) -> None:
    """Print the answer of the comparison, how sure it is and what moved."""
    if comparison is None or reference is None:
        return
    from steelyard.cli.show import console
    from steelyard.report.compare_terminal import print_answer

    print_answer(comparison, f"Against {reference.label} (A, run {reference.run_id})", console())

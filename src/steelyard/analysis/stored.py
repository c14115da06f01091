"""The summary of a run as it is stored: the figures of a run that has ended are read, not computed again.

Labels may come after a run has ended, and metrics with another version; its summary is then made again, once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING

from steelyard.errors import StoreError
from steelyard.loading.own_metrics import load_metrics
from steelyard.metrics.figures import PLANNED, Figures
from steelyard.metrics.registry import FAMILIES, OF_LABELS, metrics
from steelyard.records import RunHeader, RunState
from steelyard.store.figures import StoredSummary
from steelyard.suite.case import digest

if TYPE_CHECKING:
    from steelyard.analysis.model import Summary
    from steelyard.store.base import Store


def summary_of(store: Store, header: RunHeader) -> Summary:
    """All figures of a run and the lists of its summary."""
    load_metrics(header)
    if header.state is not RunState.ENDED:
        return _computed(store, header)
    stored = store.summary(header.id)
    if stored is not None and is_current(store, header.id, stored.basis):
        summary = _read(stored)
        if summary is not None:
            return summary
    return _kept(store, header)


def has_summary(store: Store, header: RunHeader) -> bool:
    """Whether the run has ended and its summary is stored, so that nothing need be computed."""
    if header.state is not RunState.ENDED:
        return False
    bases = store.summary_bases([header.id])
    return header.id in bases and is_current(store, header.id, bases[header.id])


def all_figures(store: Store, header: RunHeader) -> Figures:
    """Every figure of a run; of one that has ended, as it is stored."""
    if header.state is not RunState.ENDED:
        return summary_of(store, header).figures
    return figures_of(store, [header], factors=None)[header.id]


def figures_of(
    store: Store, headers: Sequence[RunHeader], names: Collection[str] | None = None, factors: Iterable[str] | None = ()
) -> dict[str, Figures]:
    """By run, the figures of the whole runs and of their slices by some factors (None: by all): every one, or those of
    some names.

    A run that goes on has none; one that is interrupted has those of the samples that it has. The summary of one that
    has ended is made again when labels came since and may change a figure that is asked for, or when it lacks one and
    was made by a version with other metrics.
    """
    factors = None if factors is None else {"", *factors}
    wanted = None if names is None else {PLANNED, *names}
    stored = store.figures([header.id for header in headers], wanted, factors)
    results = {run_id: Figures(rows) for run_id, rows in stored.items()}
    with_labels = names is None or any(name.startswith(OF_LABELS) for name in names)
    lacking = set() if wanted is None else {run_id for run_id, item in results.items() if wanted - item.kinds.keys()}
    bases = store.summary_bases(list(stored)) if with_labels or lacking else {}
    now = {families: _of_metrics(families) for families in {_families(bases[run_id]) for run_id in lacking}}
    for header in headers:
        if header.state is RunState.RUNNING:
            continue
        has_ended, basis = header.state is RunState.ENDED, bases.get(header.id, "")
        if (
            header.id not in stored
            or (has_ended and with_labels and not is_current(store, header.id, basis))
            or (has_ended and header.id in lacking and not basis.startswith(now[_families(basis)]))
        ):
            # A list shows runs without their suites, which the figures are made by.
            run = store.run(header.id)
            every = (summary_of(store, run) if has_ended else _kept(store, run)).figures.rows()
            some = (
                row
                for row in every
                if (factors is None or row.of.factor in factors) and (wanted is None or row.name in wanted)
            )
            results[header.id] = Figures(some)
    return results


def _kept(store: Store, header: RunHeader) -> Summary:
    """The summary, computed now and stored."""

    def made() -> tuple[Summary, StoredSummary]:
        summary = _computed(store, header)
        return summary, stored_form(store, header.id, summary)

    # In one view: a label that comes meanwhile is neither in the figures nor in what they are said to be made of.
    summary, form = store.one_view(made)
    with suppress(StoreError):  # whoever may not write reads it all the same
        store.keep_summary(header.id, form)
    return summary


def _computed(store: Store, header: RunHeader) -> Summary:
    from steelyard.analysis.summary_from_store import summarise_stored

    return summarise_stored(store, header.id, header.description, header=header)


def is_current(store: Store, run_id: str, basis: str) -> bool:
    """Whether a summary that was stored with this basis is still up to date."""
    return basis == _basis(store, run_id, _families(basis))


def _basis(store: Store, run_id: str, families: Iterable[str]) -> str:
    """What a summary is made of besides the samples: the metrics that there are, and what people say of the samples."""
    return f"{_of_metrics(families)} {store.people.said_of(run_id)}"


def _of_metrics(families: Iterable[str]) -> str:
    known = [family for family in families if family in FAMILIES]
    # What a suite brings along is computed when its run ends: its code may have changed since, or be gone.
    names = sorted(name for name, item in metrics(known).items() if not item.own)
    return f"{'+'.join(known)} {digest(names)}"


def _families(basis: str) -> tuple[str, ...]:
    return tuple(basis.partition(" ")[0].split("+"))


def stored_form(store: Store, run_id: str, summary: Summary) -> StoredSummary:
    """The summary of a run as a store keeps it."""
    from steelyard.store.codec import encode
    from steelyard.store.stored_text import to_json

    _know_every_part()
    families = [name for name, part in (("judge", summary.judge), ("confidence", summary.confidence)) if part]
    return StoredSummary(list(summary.figures.rows()), to_json(encode(summary)), _basis(store, run_id, families))


def _read(stored: StoredSummary) -> Summary | None:
    """The summary; None when this version cannot read what another stored."""
    from steelyard.analysis.model import Summary
    from steelyard.store.codec import decode

    _know_every_part()
    try:
        data = json.loads(stored.lists)
        unknown = data.keys() - {part.name for part in fields(Summary)}
        return None if unknown else decode(Summary, data | {"figures": Figures(stored.figures)})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


@cache
def _know_every_part() -> None:
    """The types of the lists that few summaries have, which their own modules define."""
    from steelyard.analysis import checks, confidence_model, confusions, flaky, latency, stability
    from steelyard.store import codec

    codec.KNOWN.update(
        ConfidenceTexts=confidence_model.ConfidenceTexts,
        ConfusionFigure=confusions.ConfusionFigure,
        LatencyDetails=latency.LatencyDetails,
        CheckDetails=checks.CheckDetails,
        FlakyCell=flaky.FlakyCell,
        StabilityDetails=stability.StabilityDetails,
    )

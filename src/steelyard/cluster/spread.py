"""Runs whose calls and scoring are done by workers: the engine, its limits and the store stay in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from steelyard.cluster.messages import Setup
from steelyard.cluster.on_ray import OWN, check_place, workers_on
from steelyard.cluster.remote import GRACE, RemoteScoring, RemoteTarget, completed_by, scored_by
from steelyard.engine.run_options import RunOptions
from steelyard.errors import UsageError
from steelyard.scoring.evaluate import Evaluator
from steelyard.suite.models import SuiteModel

if TYPE_CHECKING:
    from steelyard.engine.scoring_processes import ScoresRecorded
    from steelyard.runner.run import Prepared
    from steelyard.targets.base import Target

Note = Callable[[str], None]


@contextmanager
def spread(
    on: str, made: Sequence[Prepared], options: RunOptions, note: Note, env: Mapping[str, str] | None
) -> Iterator[list[Prepared]]:
    """The runs (of one suite: the arms of an A/B, or one alone) as workers at the place `on` carry them out."""
    place = check_place(on)
    _refuse_what_stays_here(made, env)
    setups = [
        Setup.of(
            item.suite,
            item.limits,
            asks=_asks(item),
            judges=item.judges is not None and item.judges.are_asked,
            strict=options.strict,
            ships=place != OWN,
        )
        for item in made
    ]
    limits = next((item.limits for item in made if _asks(item)), made[0].limits)
    note(f"starting workers (--on {place})")
    with workers_on(
        place,
        setups,
        made[0].suite,
        workers=options.workers,
        concurrency=limits.concurrency,
        steady=limits.rate is not None,
    ) as pool:
        pool.note = note
        remote = []
        for arm, item in enumerate(made):
            scoring = RemoteScoring(pool, arm)
            target = cast("Target", RemoteTarget(item.target, pool, arm, scoring))
            if item.judges is not None:
                item.judges.asked_by(completed_by(pool, arm), GRACE)
            remote.append(replace(item, target=target, scoring=scoring))
        yield remote


@contextmanager
def spread_scoring(on: str, suite: SuiteModel, options: RunOptions, note: Note) -> Iterator[ScoresRecorded]:
    """How recorded answers are scored by workers at the place `on`."""
    place = check_place(on)
    setup = Setup.of(suite, suite.limits, asks=False, judges=False, strict=options.strict, ships=place != OWN)
    note(f"starting workers (--on {place})")
    with workers_on(place, [setup], suite, workers=options.workers, concurrency=1_000_000, steady=False) as pool:
        pool.note = note
        with scored_by(pool, Evaluator(suite)) as scoring:
            yield scoring


def _asks(made: Prepared) -> bool:
    return not getattr(made.target, "makes_no_calls", False)


def _refuse_what_stays_here(made: Sequence[Prepared], env: Mapping[str, str] | None) -> None:
    """UsageError for what only this process can have."""
    if env is not None:
        raise UsageError("workers read their own environment: `env` cannot be given to them")
    for item in made:
        if getattr(item.suite.target.settings, "start", None) is not None and _asks(item):
            raise UsageError(
                "--on: the suite starts its service on this machine (target.start), where workers of a cluster may not"
                " reach it: start it yourself and name it with --base-url"
            )

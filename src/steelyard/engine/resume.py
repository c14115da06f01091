"""Resuming a run that has not ended: which one, with which options, and only with the same signature."""

from __future__ import annotations

from dataclasses import replace

from steelyard.engine.run_options import RunOptions, Selection, load_of, parse_only
from steelyard.errors import UsageError
from steelyard.records import Load, RunHeader, RunState
from steelyard.store.base import Store
from steelyard.suite.models import Limits, SuiteModel


def find_unfinished(store: Store, suite: SuiteModel, name: str) -> RunHeader:
    """The run to go on with: by name, or the suite's newest that has not ended."""
    if name:
        header = store.run(name)
        if header.state is RunState.ENDED:
            raise UsageError(f"run {header.id} has ended: there is nothing to resume")
        facts = header.options
        if facts.ab is not None:
            raise UsageError(
                f"run {header.id} is an arm of an A/B: steelyard ab ... --resume {facts.ab.id} resumes both"
            )
        if header.rescored_from is not None:
            raise UsageError(
                f"run {header.id} is an unfinished rescore, and a rescore makes no calls:"
                f" steelyard rescore {header.rescored_from} starts it again"
            )
        for later in store.runs(header.suite_name):
            if later.options.resumed_from == header.id:
                rest = "that run has ended" if later.state is RunState.ENDED else f"--resume {later.id} continues it"
                raise UsageError(f"run {header.id} was resumed as {later.id}, with changed scorers: {rest}")
        return header
    runs = store.runs(suite.name)
    taken_over = {header.options.resumed_from for header in runs}
    for header in runs:
        alone = header.options.ab is None and header.rescored_from is None and header.id not in taken_over
        if alone and header.state is not RunState.ENDED and header.options.imported is None:
            return header
    raise UsageError(f"no unfinished run of suite {suite.name}: start one without --resume")


def refuse_unfinished_rescore(earlier: RunHeader) -> None:
    """UsageError when these are the answers of a rescore that was killed midway: the run it read has them all."""
    if earlier.rescored_from is not None and earlier.state is not RunState.ENDED:
        raise UsageError(
            f"run {earlier.id} is an unfinished rescore and holds only some of the answers:"
            f" name the run that it read, {earlier.rescored_from}"
        )


def selection_of(started: RunHeader) -> Selection:
    """The part of the grid that a run was asked to score."""
    return Selection(parse_only(started.options.only), started.options.limit, started.options.sample)


def resumed_options(options: RunOptions, started: RunHeader) -> RunOptions:
    """A resumed run keeps the part of the grid and the load it was started with."""
    then, load = started.options, started.options.load
    for name, given, before in (
        ("--only, --sample and --limit", options.selection, selection_of(started)),
        ("--repeats", options.repeats, then.repeats),
        ("--strict", options.strict, then.strict),
    ):
        if given not in (None, False, Selection(), before):
            raise UsageError(f"{name}: that of run {started.id} applies and differs; leave it out")
    return replace(
        options,
        selection=selection_of(started),
        repeats=then.repeats,
        strict=then.strict,
        cache=then.cache or options.cache,
        rate=None if load is None else load.rate,
        requests_per_second=options.requests_per_second or (None if load is None else load.requests_per_second),
        answers_of=options.answers_of or then.answers_of,
    )


SCORING = frozenset({"scorers", "rules", "slices"})
"""The parts of a signature that change what is made of an answer, and nothing of what is asked."""


def changed_parts(started: RunHeader, now: RunHeader) -> list[str]:
    """The parts of the signature that have changed since the run began."""
    # A run that began before there were judges knows nothing of them: "" stands for none.
    then, today = started.signature, now.signature
    parts = [part for part in today.to_data() | then.to_data() if part != "text"]
    return [part for part in parts if (then.part(part) or "") != (today.part(part) or "")]


def require_same_signature(started: RunHeader, now: RunHeader, done: str = "resumed") -> None:
    """UsageError that names what has changed since the run began."""
    changed = changed_parts(started, now)
    if changed:
        raise UsageError(
            f"run {started.id} cannot be {done}: these have changed since it started: {', '.join(changed)}."
            f" Samples from two signatures do not belong in one run: {_same_again(changed)}start a new one"
        )


def _same_again(changed: list[str]) -> str:
    """What was said on the command line then and may have been left out now."""
    options = {"target": "--target, --model, --set or --answers", "judge": "--judge options"}
    left_out = [options[part] for part in changed if part in options]
    return f"give the same {' and '.join(left_out)} as then, or " if left_out else ""


def load_after_resume(started: Load | None, limits: Limits) -> Load:
    """The load that the run began with, and that it changed on the way where it did."""
    now = load_of(limits)
    if started is None:
        return now
    return started if started.pace == now.pace else replace(started, changed=True)

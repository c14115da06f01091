"""Going on with a run that has not ended: which one, as what, and only with the same instrument."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steelyard.engine.options import RunOptions, Selection, load_of, parse_only
from steelyard.engine.owner import is_alive
from steelyard.errors import UserMistake
from steelyard.records import RunHeader, RunState
from steelyard.store.base import Store
from steelyard.suite.models import Limits, SuiteModel


def find_unfinished(store: Store, suite: SuiteModel, name: str) -> RunHeader:
    """The run to go on with: by name, or the suite's newest that has not ended."""
    if name:
        header = store.run(name)
        if header.state is RunState.ENDED:
            raise UserMistake(f"run {header.id} has ended: there is nothing to resume")
        if "ab" in header.options:
            told = header.options["ab"].get("id")
            raise UserMistake(
                f"run {header.id} is an arm of an A/B: steelyard ab ... --resume {told} goes on with both"
            )
        if is_alive(header.options.get("owner")):
            raise UserMistake(
                f"run {header.id} is still going on in process {header.options['owner']['pid']}:"
                " wait for it, or stop it first"
            )
        if header.rescored_from is not None:
            raise UserMistake(
                f"run {header.id} is an unfinished rescore, and a rescore makes no calls:"
                f" steelyard rescore {header.rescored_from} begins it again"
            )
        return header
    for header in store.runs(suite.name):
        alone = "ab" not in header.options and header.rescored_from is None
        if alone and header.state is not RunState.ENDED and not is_alive(header.options.get("owner")):
            return header
    raise UserMistake(f"no unfinished run of suite {suite.name}: start one without --resume")


def refuse_unfinished_rescore(earlier: RunHeader) -> None:
    """UserMistake when these are the answers of a rescore that was killed midway: the run it read has them all."""
    if earlier.rescored_from is not None and earlier.state is not RunState.ENDED:
        raise UserMistake(
            f"run {earlier.id} is an unfinished rescore and holds only some of the answers:"
            f" name the run that it read, {earlier.rescored_from}"
        )


def without_owner(header: RunHeader) -> RunHeader:
    """The header of a run that nobody is running any more."""
    return replace(header, options={name: value for name, value in header.options.items() if name != "owner"})


def selection_of(begun: RunHeader) -> Selection:
    """The part of the grid that a run was asked to weigh."""
    return Selection(parse_only(tuple(begun.options.get("only") or ())), begun.options.get("limit"))


def as_begun(options: RunOptions, begun: RunHeader) -> RunOptions:
    """A resumed run keeps the part of the grid and the load it was started with."""
    kept = begun.options
    load = kept.get("load") or {}
    for name, given, then in (
        ("--only and --limit", options.selection, selection_of(begun)),
        ("--repeats", options.repeats, kept["repeats"]),
        ("--strict", options.strict, kept["strict"]),
    ):
        if given not in (None, False, Selection(), then):
            raise UserMistake(f"{name}: that of run {begun.id} holds, which is another; leave it out")
    return replace(
        options,
        selection=selection_of(begun),
        repeats=kept["repeats"],
        strict=kept["strict"],
        cache=kept["cache"] or options.cache,
        rate=load.get("rate"),
        requests_per_second=options.requests_per_second or load.get("requests_per_second"),
        answers_of=options.answers_of or kept.get("answers_of"),
    )


def insist_on_same_instrument(begun: RunHeader, now: RunHeader, done: str = "resumed") -> None:
    """UserMistake that names what has changed since the run began."""
    # A run that began before there were judges knows nothing of them: "" stands for none.
    changed = [
        part for part, value in now.signature.items() if begun.signature.get(part, "") != value and part != "text"
    ]
    if changed:
        raise UserMistake(
            f"run {begun.id} cannot be {done}: since it began these have changed: {', '.join(changed)}."
            f" Samples from two instruments do not belong in one run: {_same_again(changed)}start a new one"
        )


def _same_again(changed: list[str]) -> str:
    """What was said on the command line then and may have been left out now."""
    options = {"target": "--target, --model and --set", "judge": "--judge options"}
    left_out = [options[part] for part in changed if part in options]
    return f"give the same {' and '.join(left_out)} as then, or " if left_out else ""


def load_after_resume(begun: dict[str, Any] | None, limits: Limits) -> dict[str, Any]:
    """The load that the run began with, and that it changed on the way where it did."""
    now = load_of(limits)
    if begun is None:
        return now
    same = all(begun.get(name) == now.get(name) for name in ("rate", "requests_per_second", "concurrency"))
    return begun if same else begun | {"changed": True}

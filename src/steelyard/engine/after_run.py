"""What is stored and reported of how a run went, besides its samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.engine.engine import Ending
from steelyard.records import RunHeader
from steelyard.suite.models import Limits, SuiteModel


def after_the_run(header: RunHeader, ending: Ending) -> RunHeader:
    """The header with how it went: what warm-up and load came to, why it stopped before its end (Ctrl-C needs no
    reason), what a retry cost, and that the system was gone."""
    facts = header.options
    load, retried = facts.load, facts.retried
    if load is not None:
        load = replace(
            load,
            warm_up_failed=ending.warm_up_failed or load.warm_up_failed,
            held_up=load.held_up + ending.held_up,
            loop_lag=load.loop_lag if ending.loop_lag is None else round(ending.loop_lag, 6),
            scoring=ending.scoring or load.scoring,
        )
    facts = replace(
        facts,
        load=load,
        stopped=None if ending.interrupted else ending.stopped,
        broken=ending.broken or facts.broken,
        retried=None if retried is None else replace(retried, spent=ending.spent),
    )
    return replace(header, options=facts)


def worth_noting(ending: Ending, suite: SuiteModel, limits: Limits) -> Iterator[str]:
    """What the person who ran it may want to change."""
    if ending.held_up:
        yield (
            f"{ending.held_up:,} calls were due while {limits.concurrency:,} were in flight, and had to wait: their"
            " latency counts from when they were due; raise --concurrency to send them in time"
        )
    if limits.max_cost is not None and ending.unpriced:
        yield (
            f"the spending limit of {limits.max_cost:g} does not count calls of the {suite.target.kind} target whose"
            " answers state no cost"
        )
    if suite.answer.format == "text" and ending.health.all_objects:
        yield (
            "every answer is a JSON object, but the suite reads answers as plain text: if scorers need its fields,"
            " add answer: {format: json}, then rescore"
        )

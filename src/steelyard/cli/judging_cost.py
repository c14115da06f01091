"""What asking a judge about recorded answers would take, and whether somebody agrees to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from steelyard.errors import SuiteError, UserMistake

if TYPE_CHECKING:
    from steelyard.records import RunHeader
    from steelyard.store.base import Store
    from steelyard.suite.judge import JudgeModel
    from steelyard.suite.models import SuiteModel


def agree_to_cost(suite: SuiteModel, store: Store, earlier: RunHeader, *, yes: bool) -> None:
    """Tell what judging the answers of a run takes, and go on when somebody says yes.

    UserMistake without a terminal and without `yes`. Judges that are code cost nothing, and nobody is asked.
    """
    from steelyard.judging.estimate import estimate_cost

    judge = suite.judge
    if judge is None:
        raise UserMistake(f"the suite {suite.name} has no judge: rescore without --judge-again")
    if all(member.kind == "python" for member in judge.members):
        click.echo("The judge is code: no model is asked.", err=True)
        return
    estimate = estimate_cost(judge, _prompt_lengths(suite, judge, store, earlier))
    click.echo(f"Judging the answers of run {earlier.id} again takes: {estimate}", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserMistake("nobody is here to agree to that: add --yes to go on")
    click.confirm("Go on?", abort=True, err=True)


def _prompt_lengths(suite: SuiteModel, judge: JudgeModel, store: Store, earlier: RunHeader) -> Iterator[int]:
    from steelyard.judging.estimate import prompt_characters
    from steelyard.scoring.weigh import Weigher

    weigher = Weigher(suite)
    for sample, case in store.samples(earlier.id):
        if sample.attempt.failure is not None:
            continue
        try:
            weighed = weigher.weigh(
                sample.attempt.text or "", case, sample.attempt.status, cut_off=sample.attempt.cut_off
            )
        except SuiteError:
            raise
        except Exception:  # noqa: BLE001, S112 - a scorer that breaks makes the sample inconclusive: no judge is asked
            continue
        if weighed.to_judge is not None:
            yield prompt_characters(judge, weighed.to_judge, case, weighed.metrics)

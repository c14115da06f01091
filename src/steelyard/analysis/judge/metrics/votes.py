"""What a judge did against its own instructions, and how its answers could be read: shares of its votes."""

from __future__ import annotations

import numpy as np

from steelyard.analysis.judge.define import OF_VOTES, judge_metric, rows_of
from steelyard.analysis.judge.rubric import DescribedRubric, is_unanswered, was_cut_off
from steelyard.analysis.judge.votes import OfTexts, OfVotes, Votes, vote_rows, votes_in
from steelyard.metrics.registry import Contribute, Contributions, Names
from steelyard.metrics.run_data import RunData
from steelyard.records import Judgement, Mode, Vote
from steelyard.stats.groups import share
from steelyard.stats.intervals import SHARES, Estimate, bounded, wilson
from steelyard.suite.judge import REBUTTED, UNANSWERED

_OTHER_MODE, _NO_ANSWER = "another mode than the run's, or no scores", "never answered"
_OF_MODE = "votes of the run's own mode"
_WITHOUT_REPLY = ("rules", "recorded")
"""Steps of votes that no reply was parsed for: those of code, and those that another tool recorded."""


def _remarked(code: str) -> OfVotes:
    """Whether a vote of the run's own mode has a remark of that code."""

    def value(vote: Vote, rubric: DescribedRubric) -> float | None:
        return float(any(remark.code == code for remark in vote.remarks)) if vote.mode == rubric.mode else None

    return OfVotes(value, _OTHER_MODE)


for _name, _code, _needs, _about in (
    ("broken_rules", "RULE_BROKEN", "rules", "votes that broke a binding rule"),
    ("made_up_quotes", "MADE_UP_QUOTE", "evidence", "votes with a quote that is not in the text"),
    ("unproven", "UNPROVEN", "evidence", "votes with a high score without a quote"),
    ("contradictions", "CONTRADICTION", "check", "votes with a complaint that the answer shows to be wrong"),
    ("self_contradictions", "SELF_CONTRADICTION", "check", "votes whose scores do not fit the errors that they list"),
    ("too_few_reasons", "TOO_FEW_REASONS", "reasons", "votes with fewer reasons than asked for"),
):
    judge_metric(_name, "share", _about, f"{_about} / {_OF_MODE}", _remarked(_code), needs=_needs)

judge_metric(
    "failed",
    "share",
    "answered votes that could not be used",
    "answered votes of which nothing could be used / answered votes",
    OfVotes(lambda vote, _: None if is_unanswered(vote) else float(vote.mode is None), _NO_ANSWER),
)
judge_metric(
    "unanswered",
    "share",
    "votes whose calls were never answered",
    "votes without any answer / all votes",
    OfVotes(lambda vote, _: float(is_unanswered(vote))),
)
judge_metric(
    "cut_off",
    "share",
    "answered votes that broke off at the limit of tokens",
    "answered votes that broke off at the limit of tokens / answered votes",
    OfVotes(lambda vote, _: None if is_unanswered(vote) else float(was_cut_off(vote)), _NO_ANSWER),
)
judge_metric(
    "basic",
    "share",
    "votes of which only the scores could be read",
    "votes in basic mode / all votes",
    OfVotes(lambda vote, _: float(vote.mode is Mode.BASIC)),
)


def _on_step(data: RunData, names: Names) -> Contributions:
    votes = votes_in(data)
    return vote_rows(data, votes, (votes.step == votes.step_names.get(names[0], -1)).astype(float))


def _strict(votes: Votes) -> Estimate:
    """The share of replies in the shape asked for; n/a where no reply was parsed."""
    if "strict" in votes.step_names:
        hits = votes.step == votes.step_names["strict"]
        return share(hits, np.ones(votes.n, dtype=bool), votes.unit[votes.text])
    if not votes.n or any(step in votes.step_names for step in _WITHOUT_REPLY):
        return Estimate(None, votes.n)
    # Votes on one text are alike: no more trials than texts.
    return bounded(0.0, votes.n, 0, wilson(0.0, min(votes.n, votes.n_texts)), SHARES)


judge_metric(
    "strict",
    "share",
    "votes that came in the shape asked for, at once",
    "votes that came in the shape asked for, at once / all votes",
    lambda data, _: _on_step(data, ("strict",)),
    better="higher",
    figure=_strict,
    interval="Wilson's score interval; votes of one case count as one cluster",
)
judge_metric(
    "step.<step>.rate",
    "share",
    "votes whose answers were read so",
    "votes that were read on that step / all votes",
    _on_step,
    better="",
    gate=False,
    names=lambda votes: [(name,) for name in votes.steps],
)


def _answers(answer: str) -> Contribute:
    def rows(votes: Votes) -> Contributions:
        hits = votes.answered_as(answer).astype(float)
        return Contributions(hits, sample=votes.sample[votes.answer_text])

    return rows_of(rows)


for _name, _answer, _about in (
    ("rebutted_findings", REBUTTED, "findings of scorers that the judge rebutted"),
    ("unanswered_findings", UNANSWERED, "findings that the judge left unanswered"),
):
    judge_metric(
        _name,
        "share",
        _about,
        f"{_about} / findings that votes of the run's own mode were to answer",
        _answers(_answer),
        needs="must_answer",
        of="findings",
        counts=OF_VOTES,
    )


def _disagreed(judgement: Judgement, rubric: DescribedRubric) -> float | None:
    several = sum(vote.mode == rubric.mode for vote in judgement.votes) > 1
    return float(any(remark.code == "DISAGREEMENT" for remark in judgement.remarks)) if several else None


judge_metric(
    "disagreement",
    "share",
    "texts whose votes are far apart",
    "texts whose votes are far apart / texts with several",
    OfTexts(_disagreed, "fewer than two votes of the run's own mode"),
    of="texts",
)


def _shortened(judgement: Judgement, _: DescribedRubric) -> float | None:
    asked = [vote for vote in judgement.votes if vote.mode is not Mode.RULES and not is_unanswered(vote)]
    return float(any(vote.shortened for vote in asked)) if asked else None


judge_metric(
    "shortened",
    "share",
    "texts of which a model saw only the beginning and the end",
    "texts of which a model saw only the beginning and the end / texts that a model was shown",
    OfTexts(_shortened, "no model was called"),
    better="",
    gate=False,
    of="texts",
)

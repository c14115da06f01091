"""Why judgements failed or are excluded, counted by reason: a person must see at once what to fix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from steelyard.analysis.judge.rubric import DescribedRubric, described_rubric, is_unanswered, was_cut_off
from steelyard.failures import BROKE_OFF, failure_reason
from steelyard.metrics.registry import Contributions
from steelyard.metrics.run_data import RunData, Thing
from steelyard.records import Judgement, Mode, Sample, Vote

LONGEST = 300
"""Characters of a reason that are kept."""


class ReasonCounter:
    """Counts judgements without a reading by their reason; of each reason the first wording is kept."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._words: dict[str, str] = {}

    def add(self, judgement: Judgement) -> None:
        """One more judgement that came to nothing."""
        key, words = reason_of(judgement)
        self._counts[key] += 1
        self._words.setdefault(key, words[:LONGEST])

    def counted(self) -> dict[str, int]:
        """Each reason in words with its count, most frequent first."""
        ordered = sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return {self._words[key]: count for key, count in ordered}


def reason_of(judgement: Judgement) -> tuple[str, str]:
    """What tells the reason of a judgement without a reading from others, and the reason in words."""
    silent = [vote for vote in judgement.votes if vote.mode is None]
    return _reason(silent[0]) if silent else (judgement.message, judgement.message)


def _reason(vote: Vote) -> tuple[str, str]:
    """What tells the reason from others, and the reason in words: `judge m: http_401 Incorrect API key provided`."""
    kind, _, message = vote.message.partition(": ")
    if is_unanswered(vote):
        key, words = failure_reason(kind, message)
        return f"{vote.member}: {key}", f"judge {vote.member}: {words}"
    first = vote.message.partition(";")[0]
    return f"{vote.member}: {first}", f"judge {vote.member}: {first}"


ONLY_SCORES = "only bare scores could be read from the judge's answers"
_POSITION = re.compile(r"(?<=\.)\d+(?=[.:])")
_LONGEST_PROBLEM = 160


def is_excluded(judgement: Judgement, rubric: DescribedRubric) -> bool:
    """Whether it gave scores in another mode than was asked for: such texts are excluded, unless all are basic."""
    return judgement.mode is not None and (judgement.mode is Mode.BASIC or judgement.mode != rubric.mode)


def exclusion_reason(judgement: Judgement, rubric: DescribedRubric) -> str:
    """Why a judgement is of another mode than was asked for, with the first thing that was wrong."""
    if judgement.mode is not Mode.BASIC:
        return f"judged in mode {judgement.mode}"
    vote = next((vote for vote in judgement.votes if vote.mode is Mode.BASIC), None)
    problem = "" if vote is None else _first_problem(vote, rubric)
    return f"{ONLY_SCORES}: {problem}" if problem else ONLY_SCORES


def _first_problem(vote: Vote, rubric: DescribedRubric) -> str:
    if was_cut_off(vote):
        return BROKE_OFF
    if lacking := [name for name in rubric.asked_for if name and name not in vote.response]:
        return f"no {' and no '.join(lacking)} in the answer"
    problems = [vote.message, *(remark.message for remark in vote.remarks if remark.code == "VIOLATION")]
    first = next(filter(None, problems), "").partition(";")[0]
    # Which entry of a list it is, is no other cause.
    return _POSITION.sub("[]", first)[:_LONGEST_PROBLEM]


def silent_texts(data: RunData, reason: str) -> Contributions:
    """Texts without a reading for one reason; its first wording stands for all of it."""
    first: dict[str, str] = {}

    def things(sample: Sample, _: str) -> Iterator[Thing]:
        if sample.judgement is not None and sample.judgement.mode is None:
            key, words = reason_of(sample.judgement)
            if first.setdefault(key, words[:LONGEST]) == reason:
                yield 1.0, words

    return data.things(things)


def excluded_texts(data: RunData, reason: str) -> Contributions:
    """Texts whose judgement is not in the mode that was asked for, for one reason."""
    rubric = described_rubric(data.suite)

    def things(sample: Sample, _: str) -> Iterator[Thing]:
        judgement = sample.judgement
        if judgement is None or rubric is None or not is_excluded(judgement, rubric):
            return
        if exclusion_reason(judgement, rubric) == reason:
            yield 1.0, reason

    return data.things(things)

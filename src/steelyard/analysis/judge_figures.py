"""How the judge of a run behaved, from its ballots; they pass by once and only sums are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf

from steelyard.analysis.ballots import FAILED, is_unanswered, was_cut_off
from steelyard.analysis.clusters import Running
from steelyard.analysis.judge_model import Judged
from steelyard.analysis.judge_silence import Reasons
from steelyard.analysis.model import BoundFigure, Estimate, JudgeFigures
from steelyard.analysis.rubric import DescribedRubric
from steelyard.records import Ballot, Judgement

_SHARES = ("RULE_BROKEN", "MADE_UP_QUOTE", "CONTRADICTION")


def judge_figures(judged: Iterable[Judged], rubric: DescribedRubric) -> JudgeFigures:
    """The figures of all judgements, which come case by case."""
    figures = _Figures(rubric)
    case = None
    for each in judged:
        if each.case_id != case:
            figures.close()
            case = each.case_id
        figures.add(each.judgement)
    return figures.result()


class _Dimension:
    """The sums of one dimension."""

    def __init__(self) -> None:
        self._bound, self._raw_mean, self._bound_mean, self._top = Running(), Running(), Running(), Running()
        self._lowest, self._highest = inf, -inf

    def all(self) -> Iterable[Running]:
        return self._bound, self._raw_mean, self._bound_mean, self._top

    def add(self, raw: float, after: float, highest: float) -> None:
        self._bound.add(raw != after)
        self._raw_mean.add(raw)
        self._bound_mean.add(after)
        self._top.add(raw == highest)
        self._lowest, self._highest = min(self._lowest, raw), max(self._highest, raw)

    def figure(self, scale: tuple[float, float], n_texts: int) -> BoundFigure:
        missing = n_texts - self._bound.n
        return BoundFigure(
            self._bound.share(missing),
            self._raw_mean.mean(scale, missing),
            self._bound_mean.mean(scale, missing),
            self._top.share(missing),
            constant=self._bound.n > 1 and self._lowest == self._highest,
        )


class _Figures:
    def __init__(self, rubric: DescribedRubric) -> None:
        self._rubric = rubric
        self._n_texts = 0
        self._modes: Counter[str] = Counter()
        self._rungs: Counter[str] = Counter()
        self._remarks: Counter[str] = Counter()
        self._failed = Running()
        self._unanswered = Running()
        self._cut_off = Running()
        self._disagreed = Running()
        self._why = Reasons()
        self._remarked = {code: Running() for code in _SHARES}
        self._dimensions = {name: _Dimension() for name in rubric.dimensions}

    def _all(self) -> Iterable[Running]:
        yield from (self._failed, self._unanswered, self._cut_off, self._disagreed)
        yield from self._remarked.values()
        for each in self._dimensions.values():
            yield from each.all()

    def close(self) -> None:
        """The judgements of a case end here."""
        for each in self._all():
            each.close()

    def add(self, judgement: Judgement) -> None:
        """One more text of the case that is open."""
        self._n_texts += 1
        for ballot in judgement.ballots:
            self._ballot(ballot)
        if not judgement.ballots:
            self._rungs[FAILED] += 1
            self._unanswered.add(1)
        if judgement.mode is None:
            self._why.add(judgement)
        if sum(ballot.mode == self._rubric.mode for ballot in judgement.ballots) > 1:
            self._disagreed.add(any(remark.code == "DISAGREEMENT" for remark in judgement.remarks))
        if judgement.mode != self._rubric.mode:
            return
        for name, each in self._dimensions.items():
            if name in judgement.raw and name in judgement.bound:
                each.add(float(judgement.raw[name]), float(judgement.bound[name]), self._rubric.high)

    def _ballot(self, ballot: Ballot) -> None:
        self._rungs[ballot.rung] += 1
        self._unanswered.add(is_unanswered(ballot))
        if not is_unanswered(ballot):
            self._failed.add(ballot.mode is None)
            self._cut_off.add(was_cut_off(ballot))
        if ballot.mode is not None:
            self._modes[ballot.mode.value] += 1
        if ballot.mode != self._rubric.mode:
            return
        codes = {remark.code for remark in ballot.remarks}
        self._remarks.update(codes)
        for code, running in self._remarked.items():
            running.add(code in codes)

    def result(self) -> JudgeFigures:
        """What all of them come to."""
        self.close()
        n_ballots = self._unanswered.n
        broken, made_up, contradictions = (
            running.share(n_ballots - running.n) if code in self._rubric.checked else Estimate(None, 0)
            for code, running in self._remarked.items()
        )
        return JudgeFigures(
            mode=self._rubric.mode,
            n_texts=self._n_texts,
            n_ballots=n_ballots,
            modes=_most_frequent_first(self._modes),
            rungs=_most_frequent_first(self._rungs),
            broken_rules=broken,
            made_up_quotes=made_up,
            contradictions=contradictions,
            failed=self._failed.share(n_ballots - self._failed.n),
            unanswered=self._unanswered.share(0),
            cut_off=self._cut_off.share(n_ballots - self._cut_off.n),
            disagreement=self._disagreed.share(self._n_texts - self._disagreed.n),
            why_failed=self._why.counted(),
            dimensions={
                name: each.figure(self._rubric.scale, self._n_texts) for name, each in self._dimensions.items()
            },
            remarks=_most_frequent_first(self._remarks),
        )


def _most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

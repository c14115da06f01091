"""How the judge of a run behaved, from its ballots; they pass by once and only sums are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from steelyard.analysis.ballots import FAILED
from steelyard.analysis.clusters import Running
from steelyard.analysis.judge_model import Judged
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


class _Figures:
    def __init__(self, rubric: DescribedRubric) -> None:
        self._rubric = rubric
        self._n_texts = 0
        self._modes: Counter[str] = Counter()
        self._rungs: Counter[str] = Counter()
        self._remarks: Counter[str] = Counter()
        self._failed = Running()
        self._remarked = {code: Running() for code in _SHARES}
        self._dimensions = {name: (Running(), Running(), Running()) for name in rubric.dimensions}

    def _all(self) -> Iterable[Running]:
        yield self._failed
        yield from self._remarked.values()
        for three in self._dimensions.values():
            yield from three

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
            self._failed.add(1)
        if judgement.mode != self._rubric.mode:
            return
        for name, (bound, raw_mean, bound_mean) in self._dimensions.items():
            if name in judgement.raw and name in judgement.bound:
                raw, after = float(judgement.raw[name]), float(judgement.bound[name])
                bound.add(raw != after)
                raw_mean.add(raw)
                bound_mean.add(after)

    def _ballot(self, ballot: Ballot) -> None:
        self._rungs[ballot.rung] += 1
        self._failed.add(ballot.mode is None)
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
        n_ballots = self._failed.n
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
            failed=self._failed.share(0),
            dimensions={
                name: BoundFigure(
                    bound.share(self._n_texts - bound.n),
                    raw_mean.mean(self._rubric.scale, self._n_texts - raw_mean.n),
                    bound_mean.mean(self._rubric.scale, self._n_texts - bound_mean.n),
                )
                for name, (bound, raw_mean, bound_mean) in self._dimensions.items()
            },
            remarks=_most_frequent_first(self._remarks),
        )


def _most_frequent_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

"""The report card of a judge: its health in one run, compared with what the suite asks of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from steelyard.analysis.judge.corrected import LabelColumns, RunLabels, read_labels
from steelyard.analysis.judge.health import judge_health
from steelyard.analysis.judge.labels import labels_by_case, with_labelled
from steelyard.analysis.judge.model import JudgeHealth
from steelyard.analysis.judge.reasons import ReasonCounter
from steelyard.analysis.judge.rubric import is_unanswered
from steelyard.analysis.model import JudgeDetails, Summary
from steelyard.decide.disclosures import origins_of_run
from steelyard.decide.gates import GateResult, evaluate_gates
from steelyard.errors import UsageError
from steelyard.frozen import frozen, values_of
from steelyard.metrics.expressions import Gate, parse_judge_threshold
from steelyard.metrics.run_data import RunData
from steelyard.records import Outcome, RunHeader, RunState, Verdict
from steelyard.report.sample_detail import remark_words
from steelyard.store.base import JudgedSample, Store
from steelyard.suite.judge import JudgeModel
from steelyard.wording import threshold

_MOST_EXAMPLES = 3


@frozen
class Example:
    """One place where a judge did something wrong."""

    case_id: str
    member: str
    message: str


@frozen
class JudgeCard:
    """All that a report card shows."""

    header: RunHeader
    health: JudgeHealth
    checks: tuple[tuple[Gate, GateResult], ...]
    """Every threshold of the suite with its result."""
    invalid: tuple[str, ...] = ()
    """Why the run says nothing about its judge; empty when it does."""
    examples: dict[str, list[Example]] = field(default_factory=dict)
    """The first few remarks by code."""
    labels_at: str = ""
    """Where the suite has its labels; "" when it says nowhere."""
    outcomes: dict[str, int] = field(default_factory=dict)
    """How the samples of the run ended."""
    why_failed: dict[str, int] = field(default_factory=dict)
    """Why texts are inconclusive, as sentences that name the judge, most frequent first."""
    n_broken: int = 0
    """Texts without any vote, since a scorer or a judge that is code broke on them."""
    leaks: tuple[str, ...] = ()
    """Labels that the judge's prompt shows: nothing that is compared with them says anything of the judge."""
    origins: tuple[str, ...] = ()
    """What the judge shares with the system under test, or members of a panel with each other."""

    @property
    def verdict(self) -> Verdict | None:
        """What all thresholds come to, unless the judge is unfit or not independent anyway; None without either."""
        results = {result.verdict for _, result in self.checks}
        if self.invalid:
            return Verdict.INVALID
        if self.leaks or self.health.unfit:
            results.add(Verdict.FAIL)
        if self.health.dependent:
            results.add(Verdict.AMBIGUOUS)
        for verdict in (Verdict.FAIL, Verdict.AMBIGUOUS, Verdict.PASS):
            if verdict in results:
                return verdict
        return None

    def count(self, verdict: Verdict) -> int:
        """How many thresholds came to a verdict."""
        return sum(result.verdict is verdict for _, result in self.checks)


def build_card(store: Store, header: RunHeader, judge: JudgeModel, leaks: Sequence[str] = ()) -> JudgeCard:
    """The card of the judge of a stored run; labels are those of the run's own cases, `leaks` those of its prompt.

    UsageError when the run was judged by another rubric than `judge` has.
    """
    described = _insist_on_same_rubric(header, judge)
    watch = _Watch()
    # The labels are where the suite has them today; all else is as the run was judged.
    now = values_of(judge, "labels", "labelled", "labels_are")
    suite = header.description.model_copy(update={"judge": described.model_copy(update=now)})
    labels = labels_by_case(store.cases(header.id), judge) if judge.labels else {}
    of_run = read_labels(store, header.id, suite) or RunLabels()
    data = RunData(store.columns(header.id), suite)
    corrected = LabelColumns(of_run, data).corrected()
    data.judged = lambda: watch.passing(with_labelled(store.judgements(header.id), of_run.own))
    data.case_labels = labels
    health = judge_health(data, corrected, store.judge_spending(header.id))
    outcomes = _outcomes(store, header)
    broken = outcomes.get(Outcome.JUDGE_FAILED.value, 0) - watch.n_failed
    return JudgeCard(
        header=header,
        health=health,
        checks=check_health(health, judge.health),
        invalid=tuple(_why_invalid(header, health, outcomes, broken)),
        examples=watch.examples,
        labels_at=judge.labels,
        outcomes=outcomes,
        why_failed=watch.reasons.counted(),
        n_broken=broken,
        leaks=tuple(leaks),
        origins=tuple(origins_of_run(header)),
    )


def check_health(health: JudgeHealth, thresholds: Iterable[str]) -> tuple[tuple[Gate, GateResult], ...]:
    """Every threshold of a suite on its judge, with its result."""
    limits = list(map(parse_judge_threshold, thresholds))
    listed = JudgeDetails(health.mode, constant=health.constant)
    results = evaluate_gates(limits, Summary("", health.figures.alone, judge=listed))
    return tuple(zip(limits, results, strict=True))


def _insist_on_same_rubric(header: RunHeader, judge: JudgeModel) -> JudgeModel:
    described = header.description.judge
    if described is None:
        raise UsageError(f"run {header.id} has no judge")
    names, scale = described.rubric.names, described.rubric.scale
    if names != judge.rubric.names or scale != judge.rubric.scale:
        raise UsageError(
            f"run {header.id} was judged by another rubric than the suite {header.suite_name} has now:"
            f" {', '.join(names)} on {scale[0]:g} to {scale[1]:g}. Score it again first: steelyard rescore {header.id}"
        )
    return described


def _outcomes(store: Store, header: RunHeader) -> dict[str, int]:
    columns = store.columns(header.id)
    counts = {name: int((columns.outcome == code).sum()) for code, name in enumerate(columns.outcomes)}
    return {name: count for name, count in counts.items() if count}


def _why_invalid(header: RunHeader, health: JudgeHealth, outcomes: dict[str, int], broken: int) -> Iterator[str]:
    """Why nothing can be said of the judge. That a model fails is no such reason: that is a reading of the judge."""
    if header.state is not RunState.ENDED:
        yield f"the run has not finished: it is {header.state.value}"
    if not health.count("texts"):
        yield "no text reached the judge"
        return
    allowed = header.description.limits.max_inconclusive
    for count, message in (
        (outcomes.get(Outcome.TARGET_FAILED.value, 0), "the system gave no text for"),
        (broken, "a scorer, or the judge's own code, broke on"),
    ):
        if count > allowed * header.n_planned + 1e-9:
            yield f"{message} {count} of {header.n_planned} samples, more than the {threshold(allowed)} allowed"
    silent = health["unanswered"]
    count = round((silent.value or 0.0) * silent.n)
    if count > allowed * silent.n + 1e-9:
        more = "" if count == silent.n else f", more than the {threshold(allowed)} allowed"
        yield f"no answer came for {count:,} of {silent.n:,} votes of the judge{more}"


class _Watch:
    """Keeps the first few remarks of each code while the judgements pass by."""

    def __init__(self) -> None:
        self.examples: dict[str, list[Example]] = {}
        self.n_failed = 0
        self.reasons = ReasonCounter()

    def passing(self, judged: Iterable[JudgedSample]) -> Iterator[JudgedSample]:
        """The same judgements."""
        for item in judged:
            if item.judgement.mode is None:
                self.n_failed += 1
                self.reasons.add(item.judgement)
            for vote in item.judgement.votes:
                for remark in vote.remarks:
                    self._keep(remark.code, Example(item.case_id, vote.member, remark_words(remark)))
                if vote.mode is None:
                    self._keep(
                        "UNANSWERED" if is_unanswered(vote) else "FAILED",
                        Example(item.case_id, vote.member, vote.message),
                    )
            for remark in item.judgement.remarks:
                self._keep(remark.code, Example(item.case_id, "", remark_words(remark)))
            yield item

    def _keep(self, code: str, example: Example) -> None:
        available = self.examples.setdefault(code, [])
        if len(available) < _MOST_EXAMPLES:
            available.append(example)

"""From recorded calls to a judgement: pure, so that a rescore calls nobody and comes to the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from steelyard.judging.binding import bind_under, rules_that_hold
from steelyard.judging.complaints import Checked, ComplaintCheck, check_complaints
from steelyard.judging.default_prompt import default_system
from steelyard.judging.evidence import EvidenceCheck
from steelyard.judging.orders import without_orders
from steelyard.judging.panel import combine
from steelyard.judging.parse import AnswerParser, Parsed
from steelyard.records import BROKE_OFF, Ballot, Failure, JudgeCall, Judgement, Mode, Remark
from steelyard.suite.case import Case
from steelyard.suite.judge import BindingRule, JudgeModel, Rubric
from steelyard.suite.labels import hidden
from steelyard.suite.paths import compile_path
from steelyard.user_code import UserCodeError, checked_call, place_in_words


@dataclass(frozen=True, slots=True)
class _About:
    """What one judgement is about."""

    text: str
    case: Case
    metrics: Mapping[str, Any]
    rules: list[BindingRule]


RulesJudge = Callable[[str, Case, Mapping[str, Any]], Mapping[str, Any]]
"""A judge that is code: from text, case without labels, and metrics to the fields of the response."""

_LONGEST_TOLD: Final = 500


class JudgeReader:
    """Reads the answers of one run's judges; schema, patterns and paths are compiled once."""

    def __init__(
        self,
        judge: JudgeModel,
        rules_judges: Mapping[str, RulesJudge] | None = None,
        check: ComplaintCheck | None = None,
    ) -> None:
        """`check` holds what they complain of against what they judged."""
        self._judge = judge
        self._check = check
        self._rules_judges = rules_judges or {}
        self._parser = AnswerParser(judge)
        self._evidence = None if judge.evidence is None else EvidenceCheck(judge.evidence, judge.rubric)
        self._reasons = compile_path(judge.reasons.place) if judge.reasons else None
        self._told_to_all = _all_told(judge)
        self._narrower: dict[tuple[str, ...], JudgeReader] = {}

    def _for(self, case: Case) -> JudgeReader:
        """The reader of what is judged in this case: itself unless a dimension needs what the case does not hold."""
        judge = self._judge.for_case(case)
        if judge is self._judge:
            return self
        names = judge.rubric.names
        if names not in self._narrower:
            self._narrower[names] = JudgeReader(judge, self._rules_judges, self._check)
        return self._narrower[names]

    def read(self, calls: Sequence[JudgeCall], text: str, case: Case, metrics: Mapping[str, Any]) -> Judgement:
        """All ballots on the text and what they come to.

        A member that was not asked has a ballot without a reading. ValueError when a judge that is code gives an
        answer that cannot be used, the check of its complaints breaks, or a rule needs a metric that is not there:
        then the scale is broken.
        """
        reader = self._for(case)
        if reader is not self:
            return reader.read(calls, text, case, metrics)
        rules = rules_that_hold(self._judge, metrics)
        about = _About(text, case, metrics, rules)
        talks: dict[tuple[str, int], list[JudgeCall]] = {}
        for member in self._judge.members:
            if member.kind != "python":
                talks.update({(member.name, repeat): [] for repeat in range(self._judge.repeats)})
        for call in calls:
            talks.setdefault((call.member, call.repeat), []).append(call)
        ballots = [self._by_rules(member.name, about) for member in self._judge.members if member.kind == "python"]
        ballots += [self._by_talk(name, repeat, talk, about) for (name, repeat), talk in talks.items()]
        return self._come_to(ballots, metrics, calls)

    def recorded(
        self,
        reply: Mapping[str, Any] | None,
        text: str,
        case: Case,
        metrics: Mapping[str, Any],
        *,
        only_scores: bool = False,
        told: str = "",
    ) -> Judgement:
        """What a reply that another tool recorded comes to; without one `told` says why there is none."""
        reader = self._for(case)
        if reader is not self:
            return reader.recorded(reply, text, case, metrics, only_scores=only_scores, told=told)
        about = _About(text, case, metrics, rules_that_hold(self._judge, metrics))
        member = self._judge.members[0].name
        parsed = None if reply is None else self._parser.check(dict(reply), "recorded")
        if parsed is None or parsed.value is None:
            problems = "" if parsed is None else "; ".join(parsed.problems)[:_LONGEST_TOLD]
            remarks = (Remark("VIOLATION", "", problems),) if problems else ()
            ballot = Ballot(member, 0, None, "failed", remarks=remarks, told=problems or told)
        else:
            # It need not fit the schema of today: whoever reads the recording says whether it is more than scores.
            mode = Mode.BASIC if only_scores else Mode.MODEL
            ballot = self._ballot(member, 0, mode, "recorded", parsed.value, about, [])
            if only_scores:
                ballot = replace(ballot, told="; ".join(parsed.lacking)[:_LONGEST_TOLD])
        return self._come_to([ballot], metrics, ())

    def recorded_alone(self, reply: Mapping[str, Any], *, only_total: bool) -> Judgement:
        """What a recorded reply comes to that no rule or check can look at: what it judged was not kept, or there is
        no more than a total, which makes a judgement without dimensions."""
        member = self._judge.members[0].name
        if only_total:
            ballot = Ballot(member, 0, Mode.BASIC, "recorded", reply=reply, told="only a total was recorded")
            return Judgement(Mode.BASIC, (ballot,))
        parsed = self._parser.check(dict(reply), "recorded")
        if parsed.value is None:
            ballot = Ballot(member, 0, None, "failed", told="; ".join(parsed.problems)[:_LONGEST_TOLD])
        else:
            raw, reason = self._scores(parsed.value), "what it judged was not recorded"
            ballot = Ballot(member, 0, Mode.BASIC, "recorded", raw=raw, bound=raw, reply=parsed.value, told=reason)
        return self._come_to([ballot], {}, ())

    def _scores(self, reply: Mapping[str, Any]) -> dict[str, float | bool]:
        said = reply[self._judge.scores_in] if self._judge.scores_in else reply
        return {name: said[name] for name in self._judge.rubric.names}

    def _come_to(self, ballots: list[Ballot], metrics: Mapping[str, Any], calls: Sequence[JudgeCall]) -> Judgement:
        come_to = combine(self._judge, ballots)
        return Judgement(
            mode=come_to.mode,
            ballots=tuple(ballots),
            raw=come_to.raw,
            bound=come_to.bound,
            bound_by=come_to.bound_by,
            remarks=come_to.remarks,
            findings=() if come_to.stands is None else come_to.stands.findings,
            certainties=() if come_to.stands is None else come_to.stands.certainties,
            metrics=metrics,
            calls=tuple(calls),
            told=come_to.told,
        )

    def _by_talk(self, member: str, repeat: int, talk: list[JudgeCall], about: _About) -> Ballot:
        """The ballot of the first turn that can be used; one without a reading when there is none.

        An answer that broke off counts only when no other turn is whole.
        """
        remarks: list[Remark] = []
        told = "it was not asked"
        broken_off: Parsed | None = None
        for call in sorted(talk, key=lambda call: call.turn):
            attempt = call.attempt
            if attempt.failure is not None or attempt.text is None:
                told = _failed(attempt.failure)
                continue
            parsed = self._parser.parse(attempt.text, about.text, cut_off=attempt.cut_off)
            if attempt.cut_off:
                remarks.append(Remark("CUT_OFF", "", BROKE_OFF))
            if parsed.value is None:
                told = "; ".join(parsed.problems)[:_LONGEST_TOLD]
                remarks.append(Remark("VIOLATION", "", told))
            elif parsed.broken_off:
                broken_off = parsed
            else:
                rung = "asked_again" if call.turn > 0 else str(parsed.rung)
                return self._said(member, repeat, rung, parsed, about, remarks)
        if broken_off is not None:
            return self._said(member, repeat, "basic", broken_off, about, remarks)
        return Ballot(member, repeat, None, "failed", remarks=tuple(remarks), told=told)

    def _said(self, member: str, repeat: int, rung: str, parsed: Parsed, about: _About, before: list[Remark]) -> Ballot:
        mode = Mode.BASIC if parsed.rung == "basic" else Mode.MODEL
        ballot = self._ballot(member, repeat, mode, rung, parsed.value or {}, about, [*before, *_extra(parsed)])
        return replace(ballot, told="; ".join(parsed.lacking)[:_LONGEST_TOLD]) if parsed.lacking else ballot

    def _by_rules(self, member: str, about: _About) -> Ballot:
        judge = self._rules_judges.get(member)
        if judge is None:
            raise ValueError(f"the judge {member} is code, and the code was not given")
        case = hidden(about.case, self._judge)
        answer = checked_call(
            f"the judge {member!r}", judge, about.text, case, about.metrics, returns=Mapping[str, Any]
        )
        parsed = self._parser.check(answer, "strict")
        if parsed.value is None or parsed.rung != "strict":
            problems = "; ".join((*parsed.problems, *parsed.lacking))
            raise UserCodeError(
                f"the judge {member!r} gave an answer that cannot be used: {problems}{place_in_words(judge)}"
            )
        return self._ballot(member, 0, Mode.RULES, "rules", parsed.value, about, _extra(parsed))

    def _ballot(
        self,
        member: str,
        repeat: int,
        mode: Mode,
        rung: str,
        reply: dict[str, Any],
        about: _About,
        before: list[Remark],
    ) -> Ballot:
        raw = self._scores(reply)
        remarks, unproven = self._proof(reply, raw, about)
        bound = bind_under(self._judge, raw, about.rules, unproven)
        checked, wrong = self._checked(reply, mode, about)
        return Ballot(
            member,
            repeat,
            mode,
            rung,
            raw=raw,
            bound=bound.values,
            bound_by=bound.bound_by,
            remarks=(*before, *self._reasoned(reply), *remarks, *wrong, *bound.remarks),
            reply=checked.reply,
            findings=checked.findings,
            certainties=checked.certainties,
        )

    def _checked(self, reply: dict[str, Any], mode: Mode, about: _About) -> tuple[Checked, tuple[Remark, ...]]:
        """What of the answer bears checking. Of a basic reading only the scores are believed to begin with."""
        if self._check is None or mode is Mode.BASIC:
            return Checked(reply), ()
        case = hidden(about.case, self._judge)
        return check_complaints(self._check, reply, about.text, case, about.metrics)

    def _proof(
        self, reply: Mapping[str, Any], raw: Mapping[str, float | bool], about: _About
    ) -> tuple[tuple[Remark, ...], frozenset[str]]:
        if self._evidence is None:
            return (), frozenset()
        text, orders = without_orders(about.text)
        remarks, unproven = self._evidence.check(reply, raw, text, self._shown(about, orders))
        return tuple(_with_reason(one) for one in remarks) if orders else remarks, unproven

    def _shown(self, about: _About, orders: str) -> Iterator[str]:
        """What the judge saw and what proves nothing; read only when a quote is not in the text."""
        case = hidden(about.case, self._judge)
        yield orders
        yield self._told_to_all
        yield "\n".join(_texts([case.input, case.expected, about.metrics]))

    def _reasoned(self, reply: Mapping[str, Any]) -> tuple[Remark, ...]:
        """A remark when the answer holds fewer reasons than are asked for."""
        asked = self._judge.reasons
        if self._reasons is None or asked is None or not asked.at_least:
            return ()
        given = self._reasons(reply)
        texts = given.splitlines() if isinstance(given, str) else given if isinstance(given, list) else []
        distinct = {" ".join(one.casefold().split()) for one in texts if isinstance(one, str)} - {""}
        if len(distinct) >= asked.at_least:
            return ()
        return (Remark("TOO_FEW_REASONS", "", f"{len(distinct)} of {asked.at_least} in {asked.place}"),)


def _extra(parsed: Parsed) -> list[Remark]:
    return [Remark("EXTRA_FIELD", "", f"not asked for: {', '.join(parsed.extra)}")] if parsed.extra else []


def _with_reason(remark: Remark) -> Remark:
    if remark.code != "UNPROVEN":
        return remark
    return replace(remark, told=f"{remark.told}; sentences of it that speak to the judge prove nothing")


def _failed(failure: Failure | None) -> str:
    return "the call gave no text" if failure is None else f"{failure.kind}: {failure.message}"


def _all_told(judge: JudgeModel) -> str:
    """What every prompt of the judge holds, whatever it is about."""
    system = judge.system or default_system(judge)
    return "\n".join([system, judge.user, *_rubric_texts(judge.rubric), *(rule.text for rule in judge.rules)])


def _rubric_texts(rubric: Rubric) -> Iterator[str]:
    yield from rubric.calibration
    for dimension in rubric.dimensions:
        yield from (dimension.about, *dimension.scores.values(), *dimension.examples.values())
    for flag in rubric.flags:
        yield from (flag.about, *flag.triggers)


def _texts(value: Any) -> Iterator[str]:
    """Every text and number inside plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)

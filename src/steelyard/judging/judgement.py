"""From recorded calls to a judgement: pure, so that a rescore calls nobody and comes to the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from steelyard.failures import BROKE_OFF
from steelyard.frozen import frozen
from steelyard.judging.answers import (
    answer_counts,
    answer_remarks,
    findings_to_answer,
    owed_remarks,
    read_answers,
)
from steelyard.judging.caps import bind_under, rules_that_hold
from steelyard.judging.complaints import Checked, ComplaintCheck, check_complaints
from steelyard.judging.default_prompt import default_system
from steelyard.judging.evidence import EvidenceCheck
from steelyard.judging.instructions import without_orders
from steelyard.judging.panel import combine
from steelyard.judging.parse import AnswerParser, Parsed
from steelyard.records import Failure, Finding, JudgeCall, Judgement, Mode, Remark, Vote
from steelyard.suite.case import Case
from steelyard.suite.judge import ANSWER, CONFIRMED, NOT_CALLED, PASSAGES, BindingRule, JudgeModel, Rubric
from steelyard.suite.labels import hidden
from steelyard.user_code import UserCodeError, checked_call, place_in_words


@frozen
class _About:
    """What one judgement is about."""

    text: str
    case: Case
    metrics: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()
    """Those of scorers that a model must answer."""


RulesJudge = Callable[[str, Case, Mapping[str, Any]], Mapping[str, Any]]
"""A judge that is code: from text, case without labels, and metrics to the fields of the response."""

_LONGEST_MESSAGE: Final = 500


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
        self._shown_to_all = _all_messages(judge)
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

    def read(
        self,
        calls: Sequence[JudgeCall],
        text: str,
        case: Case,
        metrics: Mapping[str, Any],
        findings: Sequence[Finding] = (),
    ) -> Judgement:
        """All votes on the text and what they come to; `findings` are those of the scorers.

        A member that was not asked has a vote without a reading. ValueError when a judge that is code gives an
        answer that cannot be used, the check of its complaints breaks, or a rule needs a metric that is not there:
        then the scorer is broken.
        """
        reader = self._for(case)
        if reader is not self:
            return reader.read(calls, text, case, metrics, findings)
        about = _About(text, case, metrics, findings_to_answer(self._judge, findings))
        self._rules(about, [])  # one that cannot be evaluated is noticed whether a judge answered or not
        talks: dict[tuple[str, int], list[JudgeCall]] = {}
        for member in self._judge.members:
            if member.kind != "python":
                talks.update({(member.name, repeat): [] for repeat in range(self._judge.repeats)})
        for call in calls:
            talks.setdefault((call.member, call.repeat), []).append(call)
        votes = [self._by_rules(member.name, about) for member in self._judge.members if member.kind == "python"]
        for (name, repeat), talk in talks.items():
            vote = self._by_talk(name, repeat, talk, about)
            votes.append(replace(vote, shortened=True) if any(call.shortened for call in talk) else vote)
        return self._come_to(votes, metrics, calls)

    def recorded(
        self,
        response: Mapping[str, Any] | None,
        text: str,
        case: Case,
        metrics: Mapping[str, Any],
        *,
        message: str = "",
        unanswered: bool = True,
        findings: Sequence[Finding] = (),
    ) -> Judgement:
        """What a reply that another tool recorded comes to, parsed as a live one is; without one `message` says why
        there is none, and `unanswered` that no reply came which could not be used."""
        reader = self._for(case)
        if reader is not self:
            return reader.recorded(
                response, text, case, metrics, message=message, unanswered=unanswered, findings=findings
            )
        # A judge that was shown no findings owes no answers.
        place = self._judge.must_answer.place if self._judge.must_answer else ""
        shown = findings_to_answer(self._judge, findings) if place in (response or {}) else ()
        about = _About(text, case, metrics, shown)
        member = self._judge.members[0].name
        parsed = None if response is None else self._parser.check(dict(response), "recorded")
        if parsed is None or parsed.value is None:
            why = message if parsed is None else "; ".join(parsed.problems)[:_LONGEST_MESSAGE]
            remarks = () if parsed is None and unanswered else (Remark("VIOLATION", "", why),)
            vote = Vote(member, 0, None, "failed", remarks=remarks, message=why)
        else:
            vote = self._stated(member, 0, "recorded", parsed, about, [])
        return self._come_to([vote], metrics, ())

    def recorded_alone(self, response: Mapping[str, Any], *, only_total: bool) -> Judgement:
        """What a recorded reply comes to that no rule or check can look at: what it judged was not kept, or there is
        no more than a total, which makes a judgement without dimensions."""
        member = self._judge.members[0].name
        if only_total:
            vote = Vote(member, 0, Mode.BASIC, "recorded", response=response, message="only a total was recorded")
            return Judgement(Mode.BASIC, (vote,))
        parsed = self._parser.check(dict(response), "recorded")
        if parsed.value is None:
            vote = Vote(member, 0, None, "failed", message="; ".join(parsed.problems)[:_LONGEST_MESSAGE])
        else:
            raw, reason = self._scores(parsed.value), "what it judged was not recorded"
            vote = Vote(
                member, 0, Mode.BASIC, "recorded", uncapped=raw, capped=raw, response=parsed.value, message=reason
            )
        return self._come_to([vote], {}, ())

    def _scores(self, response: Mapping[str, Any]) -> dict[str, float | bool]:
        text = response[self._judge.scores_in] if self._judge.scores_in else response
        return {name: text[name] for name in self._judge.rubric.names}

    def _come_to(self, votes: list[Vote], metrics: Mapping[str, Any], calls: Sequence[JudgeCall]) -> Judgement:
        come_to = combine(self._judge, votes)
        return Judgement(
            mode=come_to.mode,
            votes=tuple(votes),
            uncapped=come_to.uncapped,
            capped=come_to.capped,
            capped_by=come_to.capped_by,
            remarks=come_to.remarks,
            findings=() if come_to.stands is None else come_to.stands.findings,
            claims=() if come_to.stands is None else come_to.stands.claims,
            metrics=metrics,
            calls=tuple(calls),
            message=come_to.message,
        )

    def _by_talk(self, member: str, repeat: int, talk: list[JudgeCall], about: _About) -> Vote:
        """The vote of the first turn that can be used and owes least; one without a reading when there is none.

        An answer that broke off counts only when no other turn is whole.
        """
        remarks: list[Remark] = []
        message = NOT_CALLED
        broken_off: Parsed | None = None
        usable: list[tuple[int, str, Parsed]] = []
        for call in sorted(talk, key=lambda call: call.turn):
            call_result = call.call_result
            if call_result.failure is not None or call_result.text is None:
                message = _failed(call_result.failure)
                continue
            parsed = self._parser.parse(call_result.text, about.text, cut_off=call_result.cut_off)
            if call_result.cut_off:
                remarks.append(Remark("CUT_OFF", "", BROKE_OFF))
            if parsed.value is None:
                message = "; ".join(parsed.problems)[:_LONGEST_MESSAGE]
                remarks.append(Remark("VIOLATION", "", message))
            elif parsed.broken_off:
                broken_off = parsed
            else:
                owed = owed_remarks(self._judge, parsed.value, about.findings, about.text)
                usable.append((len(owed), "asked_again" if call.turn > 0 else str(parsed.step), parsed))
                if not owed:
                    break
                remarks += owed
        if usable:
            _, step, parsed = min(usable, key=lambda turn: turn[0])
            return self._stated(member, repeat, step, parsed, about, remarks)
        if broken_off is not None:
            return self._stated(member, repeat, "basic", broken_off, about, remarks)
        return Vote(member, repeat, None, "failed", remarks=tuple(remarks), message=message)

    def _stated(self, member: str, repeat: int, step: str, parsed: Parsed, about: _About, before: list[Remark]) -> Vote:
        mode = Mode.BASIC if parsed.step == "basic" else Mode.MODEL
        vote = self._vote(member, repeat, mode, step, parsed.value or {}, about, [*before, *_extra(parsed)])
        return replace(vote, message="; ".join(parsed.lacking)[:_LONGEST_MESSAGE]) if parsed.lacking else vote

    def _by_rules(self, member: str, about: _About) -> Vote:
        judge = self._rules_judges.get(member)
        if judge is None:
            raise ValueError(f"the judge {member} is code, and the code was not given")
        case = hidden(about.case, self._judge)
        answer = checked_call(
            f"the judge {member!r}", judge, about.text, case, about.metrics, returns=Mapping[str, Any]
        )
        parsed = self._parser.check(answer, "strict")
        if parsed.value is None or parsed.step != "strict" or parsed.dropped:
            problems = "; ".join((*parsed.problems, *parsed.lacking, *parsed.dropped))
            raise UserCodeError(
                f"the judge {member!r} gave an answer that cannot be used: {problems}{place_in_words(judge)}"
            )
        return self._vote(member, 0, Mode.RULES, "rules", parsed.value, about, _extra(parsed))

    def _vote(
        self,
        member: str,
        repeat: int,
        mode: Mode,
        step: str,
        response: dict[str, Any],
        about: _About,
        before: list[Remark],
    ) -> Vote:
        raw = self._scores(response)
        remarks, unproven = self._proof(response, raw, about)
        answers = [] if mode is Mode.RULES else read_answers(self._judge, response, about.findings, about.text)
        bound = bind_under(self._judge, raw, self._rules(about, answers, by_code=mode is Mode.RULES), unproven)
        checked, wrong = self._checked(response, mode, about)
        owing = owed_remarks(self._judge, response, () if mode is Mode.RULES else about.findings, about.text)
        owed = [remark for remark in owing if remark not in before]
        disagreed = [remark for remark in answer_remarks(answers) if remark not in owing]
        if self._judge.must_answer is not None and (answers or (mode is Mode.MODEL and step != "recorded")):
            checked = replace(checked, response={**checked.response, self._judge.must_answer.place: answers})
        return Vote(
            member,
            repeat,
            mode,
            step,
            uncapped=raw,
            capped=bound.values,
            capped_by=bound.capped_by,
            remarks=(*before, *owed, *disagreed, *remarks, *wrong, *bound.remarks),
            response=checked.response,
            findings=checked.findings,
            claims=checked.claims,
        )

    def _checked(self, response: dict[str, Any], mode: Mode, about: _About) -> tuple[Checked, tuple[Remark, ...]]:
        """What of the answer bears checking. Of a basic reading only the scores are believed to begin with."""
        if self._check is None or mode is Mode.BASIC:
            return Checked(response), ()
        case = hidden(about.case, self._judge)
        return check_complaints(self._check, response, about.text, case, about.metrics)

    def _proof(
        self, response: Mapping[str, Any], raw: Mapping[str, float | bool], about: _About
    ) -> tuple[tuple[Remark, ...], frozenset[str]]:
        if self._evidence is None:
            return (), frozenset()
        text, orders = without_orders(about.text)
        owed = self._judge.evidence
        texts: tuple[str, ...] = (text,)
        if owed is not None and owed.of_answer is not None:
            texts = tuple(about.metrics.get(ANSWER, {}).get(PASSAGES, ()))
        elif owed is not None and owed.quotes_from:
            texts = owed.passages(about.case)
        remarks, unproven = self._evidence.check(response, raw, texts, self._shown(about, orders))
        return tuple(_with_reason(remark) for remark in remarks) if orders else remarks, unproven

    def _shown(self, about: _About, orders: str) -> Iterator[str]:
        """What the judge saw and what proves nothing; read only when a quote is not in the text."""
        case = hidden(about.case, self._judge)
        yield orders
        if self._judge.evidence is not None and self._judge.evidence.quotes_from:
            yield about.text
        yield self._shown_to_all
        yield "\n".join(_texts([case.input, case.expected, about.metrics]))

    def _rules(
        self, about: _About, answers: Sequence[Mapping[str, str]], *, by_code: bool = False
    ) -> list[BindingRule]:
        """The rules that hold for a vote. They may name what it answered to findings; a judge that is code is not
        shown any, and what scorers found counts as confirmed."""
        if self._judge.must_answer is None:
            return rules_that_hold(self._judge, about.metrics)
        counts = answer_counts(answers) | ({CONFIRMED: len(about.findings)} if by_code else {})
        return rules_that_hold(self._judge, {**about.metrics, self._judge.must_answer.place: counts})


def _extra(parsed: Parsed) -> list[Remark]:
    extra = [Remark("EXTRA_FIELD", "", f"not asked for: {', '.join(parsed.extra)}")] if parsed.extra else []
    dropped = "; ".join(parsed.dropped)[:_LONGEST_MESSAGE]
    return [*extra, Remark("NOT_AS_ASKED", "", dropped)] if dropped else extra


def _with_reason(remark: Remark) -> Remark:
    if remark.code != "UNPROVEN":
        return remark
    return replace(remark, message=f"{remark.message}; sentences that address the judge are no evidence")


def _failed(failure: Failure | None) -> str:
    return "the call gave no text" if failure is None else f"{failure.kind}: {failure.message}"


def _all_messages(judge: JudgeModel) -> str:
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

"""A judgement: the members' scores, limited by the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from steelyard.frozen import frozen
from steelyard.judging.answers import (
    answer_counts,
    answer_remarks,
    findings_to_answer,
    owed_remarks,
    read_answers,
)
from steelyard.judging.evidence import Checked, ComplaintCheck, EvidenceCheck, check_complaints
from steelyard.judging.parse import AnswerParser, Parsed
from steelyard.judging.prompt import default_system, without_orders
from steelyard.plugins import UserCodeError, checked_call, place_in_words
from steelyard.records import Failure, Finding, JudgeCall, Judgement, Mode, Remark, Vote, nearest
from steelyard.scoring.extract import BROKE_OFF
from steelyard.suite.case import Case
from steelyard.suite.judge import ANSWER, CONFIRMED, NOT_CALLED, PASSAGES, BindingRule, JudgeModel, Rubric
from steelyard.suite.labels import hidden

# Rules that are enforced in code: the judge's scores, capped by what was measured and by what it could prove.

Statement = Mapping[str, float | bool]


@frozen
class Bound:
    """What counts after rules and checks, what bound each value that differs, and the rules that the judge broke."""

    values: dict[str, float | bool]
    capped_by: dict[str, str]
    remarks: tuple[Remark, ...]


def rules_that_hold(judge: JudgeModel, metrics: Mapping[str, Any]) -> list[BindingRule]:
    """The rules whose condition is met; ValueError when one needs a metric that is not there."""
    return [rule for rule in judge.rules if rule.holds(metrics)]


def bind_under(
    judge: JudgeModel, raw: Statement, rules: Sequence[BindingRule], unproven: Collection[str] = ()
) -> Bound:
    """The judge's scores and flags under these rules; no score is ever raised, no flag ever taken back.

    Of several caps the lowest counts, of equal ones the first. A dimension in `unproven` counts as the neutral score
    at most, when the suite asks for that.
    """
    values = dict(raw)
    capped_by: dict[str, str] = {}
    remarks: list[Remark] = []
    for rule in rules:
        broken = {name: raw[name] for name, cap in rule.caps.items() if name in raw and raw[name] > cap}
        broken |= {name: False for name in rule.raises if raw.get(name) is False}
        for name in broken:
            if name in rule.caps and values[name] > rule.caps[name]:
                values[name] = _tidy(rule.caps[name])
                capped_by[name] = rule.text
            elif name in rule.raises and values[name] is False:
                values[name] = True
                capped_by[name] = rule.text
        if broken:
            remarks.append(Remark("RULE_BROKEN", next(iter(broken)), f"{rule.text}: {_message(broken)}"))
    neutral = judge.rubric.neutral
    if judge.evidence is not None and judge.evidence.unproven == "neutral":
        for name in unproven:
            if values[name] > neutral:
                values[name] = neutral
                capped_by[name] = f"evidence: no quote from {judge.evidence.source} for a score above {neutral}"
    return Bound(values, capped_by, tuple(remarks))


def _tidy(cap: float) -> float:
    return int(cap) if cap == cap // 1 else cap


def _message(broken: Mapping[str, float | bool]) -> str:
    return ", ".join(f"{name} {'false' if value is False else f'{value:g}'}" for name, value in broken.items())


# Several votes on one text and what they come to: one mode, one value for each dimension and flag, or nothing.

_ORDER: Final = (Mode.MODEL, Mode.BASIC, Mode.RULES)
_MOST_MESSAGES: Final = 3


@frozen
class Combined:
    """The combined result of a panel. `mode` is None without a result, and `message` then says why.

    `uncapped` lacks a dimension on which the uncapped scores have no majority though the capped ones have.
    """

    mode: Mode | None
    uncapped: dict[str, float | bool] = field(default_factory=dict)
    capped: dict[str, float | bool] = field(default_factory=dict)
    capped_by: dict[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    message: str = ""
    stands: Vote | None = None
    """The representative vote: the first of those whose capped scores are nearest to the combined."""


def combine(judge: JudgeModel, votes: Sequence[Vote]) -> Combined:
    """All votes that were asked for, combined as the judge declares.

    Only votes of one mode are put together, and only when they are at least half of all: a judge that fails is
    neither a zero nor left out of sight.
    """
    for mode in _ORDER:
        of_mode = [vote for vote in votes if vote.mode is mode]
        if of_mode and len(of_mode) * 2 >= len(votes):
            return _combined(judge, mode, of_mode)
    return Combined(None, message=_why_nothing(votes))


def _combined(judge: JudgeModel, mode: Mode, votes: list[Vote]) -> Combined:
    remarks = _disagreements(judge, votes)
    raw: dict[str, float | bool] = {}
    bound: dict[str, float | bool] = {}
    without: list[Remark] = []
    pick = _majority if judge.combine == "majority" else _median
    for dimension in judge.rubric.dimensions:
        name = dimension.name
        before, after = (pick(values) for values in _values(votes, name))
        if before is not None:
            raw[name] = before
        if after is None:
            without.append(Remark("NO_MAJORITY", name, _listed(votes, name, lambda vote: vote.capped)))
        else:
            bound[name] = after
    if without:
        names = ", ".join(item.dimension for item in without)
        return Combined(None, remarks=(*remarks, *without), message=f"no majority in the panel: {names}")
    for flag in judge.rubric.flags:
        raw[flag.name], bound[flag.name] = (_is_set(judge, flags) for flags in _values(votes, flag.name))
    capped_by = {name: rule for name in bound if (rule := _rule(name, raw, bound, votes))}
    return Combined(mode, raw, bound, capped_by, tuple(remarks), stands=nearest(votes, bound))


def _values(votes: list[Vote], name: str) -> tuple[list[float], list[float]]:
    return [vote.uncapped[name] for vote in votes], [vote.capped[name] for vote in votes]


def _median(values: list[float]) -> float:
    """The middle value; the mean of the two in the middle when there is no one."""
    lower, upper = _middle(values)
    mean = (lower + upper) / 2
    return int(mean) if mean == mean // 1 else mean


def _middle(values: list[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]


def _majority(values: list[float]) -> float | None:
    value, count = Counter(values).most_common(1)[0]
    return value if count * 2 > len(values) else None


def _is_set(judge: JudgeModel, votes: list[float]) -> bool:
    """What the panel says of a flag; a tie sets it, the careful side."""
    return any(votes) if judge.flags == "any" else sum(map(bool, votes)) * 2 >= len(votes)


def _rule(
    name: str, raw: Mapping[str, float | bool], bound: Mapping[str, float | bool], votes: list[Vote]
) -> str | None:
    """What bound the combined value: the rule of the first vote that decides it, else of any bound vote."""
    if raw.get(name) == bound[name]:
        return None
    values = [vote.capped[name] for vote in votes]
    deciding = {bound[name], *_middle(values)}
    rules = [(vote.capped[name] not in deciding, vote.capped_by[name]) for vote in votes if name in vote.capped_by]
    return min(rules, key=lambda rule: rule[0])[1] if rules else None


def _disagreements(judge: JudgeModel, votes: list[Vote]) -> list[Remark]:
    """Where the votes are far apart in what they said, before any rule made them equal."""
    far = []
    for name in judge.rubric.names:
        values = [vote.uncapped[name] for vote in votes]
        spread = max(values) - min(values)
        is_flag = isinstance(values[0], bool)
        if spread > 0 and (is_flag or spread >= judge.disagreement):
            far.append(Remark("DISAGREEMENT", name, _listed(votes, name, lambda vote: vote.uncapped)))
    return far


def _listed(votes: list[Vote], name: str, of: Callable[[Vote], Mapping[str, float | bool]]) -> str:
    return ", ".join(f"{vote.member} {_stated(of(vote)[name])}" for vote in votes)


def _stated(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _why_nothing(votes: Sequence[Vote]) -> str:
    if not votes:
        return "no judge was asked"
    failed = [vote for vote in votes if vote.mode is None]
    read = Counter(str(vote.mode) for vote in votes if vote.mode is not None)
    if not failed or len(failed) * 2 < len(votes):
        modes = ", ".join(f"{count} {mode}" for mode, count in read.items())
        return f"of {len(votes)} judges fewer than half gave scores of one mode: {modes}, {len(failed)} none"
    reasons = list(dict.fromkeys(f"{vote.member}: {vote.message}" for vote in failed))
    message = "; ".join(reasons[:_MOST_MESSAGES]) + ("; ..." if len(reasons) > _MOST_MESSAGES else "")
    if len(votes) == 1:
        return message
    return f"{len(failed)} of {len(votes)} judges gave no scores: {message}"


# From recorded calls to a judgement: pure, so that a rescore calls nobody and comes to the same.


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

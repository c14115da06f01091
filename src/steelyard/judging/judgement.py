"""A judgement: the members' scores, limited by the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from steelyard.judging.evidence import Checked, ComplaintCheck, EvidenceCheck, check_complaints
from steelyard.judging.parse import AnswerParser, Parsed
from steelyard.judging.prompt import default_system, without_orders
from steelyard.plugins import UserCodeError, checked_call, place_in_words
from steelyard.records import BROKE_OFF, Ballot, Failure, JudgeCall, Judgement, Mode, Remark, nearest
from steelyard.suite.case import Case, compile_path
from steelyard.suite.judge import BindingRule, JudgeModel, Rubric
from steelyard.suite.labels import hidden

# Rules that are enforced, not told: what the judge said, bound by what was measured and by what it could prove.

Said = Mapping[str, float | bool]


@dataclass(frozen=True, slots=True)
class Bound:
    """What counts after rules and checks, what bound each value that differs, and the rules that the judge broke."""

    values: dict[str, float | bool]
    bound_by: dict[str, str]
    remarks: tuple[Remark, ...]


def rules_that_hold(judge: JudgeModel, metrics: Mapping[str, Any]) -> list[BindingRule]:
    """The rules whose condition is met; ValueError when one needs a metric that is not there."""
    return [rule for rule in judge.rules if rule.holds(metrics)]


def bind_under(judge: JudgeModel, raw: Said, rules: Sequence[BindingRule], unproven: Collection[str] = ()) -> Bound:
    """The judge's scores and flags under these rules; no score is ever raised, no flag ever taken back.

    Of several caps the lowest counts, of equal ones the first. A dimension in `unproven` counts as the neutral score
    at most, when the suite asks for that.
    """
    values = dict(raw)
    bound_by: dict[str, str] = {}
    remarks: list[Remark] = []
    for rule in rules:
        broken = {name: raw[name] for name, cap in rule.caps.items() if name in raw and raw[name] > cap}
        broken |= {name: False for name in rule.raises if raw.get(name) is False}
        for name in broken:
            if name in rule.caps and values[name] > rule.caps[name]:
                values[name] = _tidy(rule.caps[name])
                bound_by[name] = rule.text
            elif name in rule.raises and values[name] is False:
                values[name] = True
                bound_by[name] = rule.text
        if broken:
            remarks.append(Remark("RULE_BROKEN", next(iter(broken)), f"{rule.text}: {_told(broken)}"))
    neutral = judge.rubric.neutral
    if judge.evidence is not None and judge.evidence.unproven == "neutral":
        for name in unproven:
            if values[name] > neutral:
                values[name] = neutral
                bound_by[name] = f"evidence: no quote from the text for a score above {neutral}"
    return Bound(values, bound_by, tuple(remarks))


def _tidy(cap: float) -> float:
    return int(cap) if cap == cap // 1 else cap


def _told(broken: Mapping[str, float | bool]) -> str:
    return ", ".join(f"{name} {'false' if value is False else f'{value:g}'}" for name, value in broken.items())


# Several ballots on one text and what they come to: one mode, one value for each dimension and flag, or nothing.

_ORDER: Final = (Mode.MODEL, Mode.BASIC, Mode.RULES)
_MOST_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class Combined:
    """What a panel comes to. `mode` is None when it comes to nothing, and `told` then says why.

    `raw` lacks a dimension on which the raw scores have no majority though the bound ones have.
    """

    mode: Mode | None
    raw: dict[str, float | bool] = field(default_factory=dict)
    bound: dict[str, float | bool] = field(default_factory=dict)
    bound_by: dict[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    told: str = ""
    stands: Ballot | None = None
    """The ballot that stands for the others: the first of those whose bound scores are nearest to the combined."""


def combine(judge: JudgeModel, ballots: Sequence[Ballot]) -> Combined:
    """All ballots that were asked for, combined as the judge declares.

    Only ballots of one mode are put together, and only when they are at least half of all: a judge that fails is
    neither a zero nor left out of sight.
    """
    for mode in _ORDER:
        of_mode = [vote for vote in ballots if vote.mode is mode]
        if of_mode and len(of_mode) * 2 >= len(ballots):
            return _combined(judge, mode, of_mode)
    return Combined(None, told=_why_nothing(ballots))


def _combined(judge: JudgeModel, mode: Mode, ballots: list[Ballot]) -> Combined:
    remarks = _disagreements(judge, ballots)
    raw: dict[str, float | bool] = {}
    bound: dict[str, float | bool] = {}
    without: list[Remark] = []
    pick = _majority if judge.combine == "majority" else _median
    for dimension in judge.rubric.dimensions:
        name = dimension.name
        before, after = (pick(values) for values in _values(ballots, name))
        if before is not None:
            raw[name] = before
        if after is None:
            without.append(Remark("NO_MAJORITY", name, _listed(ballots, name, lambda vote: vote.bound)))
        else:
            bound[name] = after
    if without:
        names = ", ".join(item.dimension for item in without)
        return Combined(None, remarks=(*remarks, *without), told=f"no score that most of the panel gave: {names}")
    for flag in judge.rubric.flags:
        raw[flag.name], bound[flag.name] = (_is_set(judge, votes) for votes in _values(ballots, flag.name))
    bound_by = {name: rule for name in bound if (rule := _rule(name, raw, bound, ballots))}
    return Combined(mode, raw, bound, bound_by, tuple(remarks), stands=nearest(ballots, bound))


def _values(ballots: list[Ballot], name: str) -> tuple[list[float], list[float]]:
    return [vote.raw[name] for vote in ballots], [vote.bound[name] for vote in ballots]


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
    name: str, raw: Mapping[str, float | bool], bound: Mapping[str, float | bool], ballots: list[Ballot]
) -> str | None:
    """What bound the combined value: the rule of the first ballot that decides it, else of any bound ballot."""
    if raw.get(name) == bound[name]:
        return None
    values = [vote.bound[name] for vote in ballots]
    deciding = {bound[name], *_middle(values)}
    rules = [(vote.bound[name] not in deciding, vote.bound_by[name]) for vote in ballots if name in vote.bound_by]
    return min(rules, key=lambda rule: rule[0])[1] if rules else None


def _disagreements(judge: JudgeModel, ballots: list[Ballot]) -> list[Remark]:
    """Where the ballots are far apart in what they said, before any rule made them equal."""
    far = []
    for name in judge.rubric.names:
        values = [vote.raw[name] for vote in ballots]
        spread = max(values) - min(values)
        is_flag = isinstance(values[0], bool)
        if spread > 0 and (is_flag or spread >= judge.disagreement):
            far.append(Remark("DISAGREEMENT", name, _listed(ballots, name, lambda vote: vote.raw)))
    return far


def _listed(ballots: list[Ballot], name: str, of: Callable[[Ballot], Mapping[str, float | bool]]) -> str:
    return ", ".join(f"{vote.member} {_said(of(vote)[name])}" for vote in ballots)


def _said(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _why_nothing(ballots: Sequence[Ballot]) -> str:
    if not ballots:
        return "no judge was asked"
    failed = [vote for vote in ballots if vote.mode is None]
    read = Counter(str(vote.mode) for vote in ballots if vote.mode is not None)
    if not failed or len(failed) * 2 < len(ballots):
        modes = ", ".join(f"{count} {mode}" for mode, count in read.items())
        return f"of {len(ballots)} judges fewer than half gave a reading of one kind: {modes}, {len(failed)} none"
    reasons = list(dict.fromkeys(f"{vote.member}: {vote.told}" for vote in failed))
    message = "; ".join(reasons[:_MOST_TOLD]) + ("; ..." if len(reasons) > _MOST_TOLD else "")
    if len(ballots) == 1:
        return message
    return f"{len(failed)} of {len(ballots)} judges gave no reading: {message}"


# From recorded calls to a judgement: pure, so that a rescore calls nobody and comes to the same.


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
        votes = [self._by_rules(member.name, about) for member in self._judge.members if member.kind == "python"]
        votes += [self._by_talk(name, repeat, talk, about) for (name, repeat), talk in talks.items()]
        return self._come_to(votes, metrics, calls)

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
            vote = Ballot(member, 0, None, "failed", remarks=remarks, told=problems or told)
        else:
            # It need not fit the schema of today: whoever reads the recording says whether it is more than scores.
            mode = Mode.BASIC if only_scores else Mode.MODEL
            vote = self._ballot(member, 0, mode, "recorded", parsed.value, about, [])
            if only_scores:
                vote = replace(vote, told="; ".join(parsed.lacking)[:_LONGEST_TOLD])
        return self._come_to([vote], metrics, ())

    def recorded_alone(self, reply: Mapping[str, Any], *, only_total: bool) -> Judgement:
        """What a recorded reply comes to that no rule or check can look at: what it judged was not kept, or there is
        no more than a total, which makes a judgement without dimensions."""
        member = self._judge.members[0].name
        if only_total:
            vote = Ballot(member, 0, Mode.BASIC, "recorded", reply=reply, told="only a total was recorded")
            return Judgement(Mode.BASIC, (vote,))
        parsed = self._parser.check(dict(reply), "recorded")
        if parsed.value is None:
            vote = Ballot(member, 0, None, "failed", told="; ".join(parsed.problems)[:_LONGEST_TOLD])
        else:
            raw, reason = self._scores(parsed.value), "what it judged was not recorded"
            vote = Ballot(member, 0, Mode.BASIC, "recorded", raw=raw, bound=raw, reply=parsed.value, told=reason)
        return self._come_to([vote], {}, ())

    def _scores(self, reply: Mapping[str, Any]) -> dict[str, float | bool]:
        text = reply[self._judge.scores_in] if self._judge.scores_in else reply
        return {name: text[name] for name in self._judge.rubric.names}

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
        message = "it was not asked"
        broken_off: Parsed | None = None
        for call in sorted(talk, key=lambda call: call.turn):
            attempt = call.attempt
            if attempt.failure is not None or attempt.text is None:
                message = _failed(attempt.failure)
                continue
            parsed = self._parser.parse(attempt.text, about.text, cut_off=attempt.cut_off)
            if attempt.cut_off:
                remarks.append(Remark("CUT_OFF", "", BROKE_OFF))
            if parsed.value is None:
                message = "; ".join(parsed.problems)[:_LONGEST_TOLD]
                remarks.append(Remark("VIOLATION", "", message))
            elif parsed.broken_off:
                broken_off = parsed
            else:
                step = "asked_again" if call.turn > 0 else str(parsed.rung)
                return self._said(member, repeat, step, parsed, about, remarks)
        if broken_off is not None:
            return self._said(member, repeat, "basic", broken_off, about, remarks)
        return Ballot(member, repeat, None, "failed", remarks=tuple(remarks), told=message)

    def _said(self, member: str, repeat: int, rung: str, parsed: Parsed, about: _About, before: list[Remark]) -> Ballot:
        mode = Mode.BASIC if parsed.rung == "basic" else Mode.MODEL
        vote = self._ballot(member, repeat, mode, rung, parsed.value or {}, about, [*before, *_extra(parsed)])
        return replace(vote, told="; ".join(parsed.lacking)[:_LONGEST_TOLD]) if parsed.lacking else vote

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
        return tuple(_with_reason(remark) for remark in remarks) if orders else remarks, unproven

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
        distinct = {" ".join(text.casefold().split()) for text in texts if isinstance(text, str)} - {""}
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

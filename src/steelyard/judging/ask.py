"""Asks the judges that are models: panels, judging repeats, asking again; and finds those that are code."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol, Self

from steelyard.errors import SuiteError
from steelyard.frozen import frozen
from steelyard.judging.answers import asked_about, findings_to_answer, owed_remarks, problem_of, shown_findings
from steelyard.judging.fence import new_fence
from steelyard.judging.parse import AnswerParser
from steelyard.judging.prompt import again, messages
from steelyard.records import CallResult, Failure, Finding, JudgeCall
from steelyard.redact import learn_secrets, secrets_in
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel, Member
from steelyard.suite_code import find_callable
from steelyard.targets.base import Response, TargetContext
from steelyard.targets.chat_wire import ChatWire
from steelyard.targets.model_address import ChatConnection

_SEEDS_A_TURN = 1000
"""How far apart the seeds of two turns are: farther than anybody repeats a judging."""
_MOST_ECHOED = 8_000
"""Characters of an unusable answer that are shown to the judge again; an endless one must not fill the context."""

RulesJudge = Callable[[str, Case, Mapping[str, Any]], Mapping[str, Any]]
"""A judge that is code: from text, case and metrics to the fields of the response."""


class JudgeCaller(Protocol):
    """Makes a call as long as it is worth it; a failure is an attempt."""

    async def perform(self, send: Callable[[], Awaitable[Response]], seconds: float | None = None) -> CallResult: ...


class PaidCalls(Protocol):
    """What has been paid for already for this text, by part; it outlives a kill."""

    def get(self, part: str) -> CallResult | None: ...

    async def put(self, part: str, call_result: CallResult) -> None: ...


@frozen
class _Question:
    """What is judged, and who carries the calls."""

    text: str
    case: Case
    metrics: Mapping[str, Any]
    caller_of: Callable[[str], JudgeCaller]
    journal: PaidCalls | None
    findings: tuple[Finding, ...]
    """Those of scorers that the judge must answer."""


Complete = Callable[[str, dict[str, Any], dict[str, Any] | None], Awaitable[Response]]


class Bench:
    """The judges of a run that are models, with their connections open inside `async with`.

    UsageError when a variable of the environment that holds a key is not set.
    """

    def __init__(self, judge: JudgeModel, target_context: TargetContext) -> None:
        self._judge = judge
        self._parser = AnswerParser(judge)
        self._wires = {
            member.name: ChatWire(_connection(member), target_context, f"judge {member.name}")
            for member in judge.members
            if member.is_model
        }
        self._open = AsyncExitStack()
        self.complete: Complete = self._complete
        """Gives one answer of a model of the panel by its name, or TargetFailure; another process may do that."""

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opening:
            for wire in self._wires.values():
                await opening.enter_async_context(wire)
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._open.aclose()

    async def ask(
        self,
        text: str,
        case: Case,
        metrics: Mapping[str, Any],
        caller_of: Callable[[str], JudgeCaller],
        journal: PaidCalls | None = None,
        findings: Iterable[Finding] = (),
    ) -> tuple[JudgeCall, ...]:
        """All calls about one text: for each model of the panel and each judging repeat one talk, in that order.

        A talk has a further turn while its answer cannot be used, or broke off at the limit of tokens, and `ask_again`
        allows one; and one for an answer that owes reasons, or the answer to a finding. A failed call ends it.
        `caller_of` gives who carries the calls of a member. What the journal holds is not asked for again.
        """
        question = _Question(text, case, metrics, caller_of, journal, findings_to_answer(self._judge, findings))
        asked = [member for member in self._judge.members if member.name in self._wires]
        talks = [self._talk(member, repeat, question) for member in asked for repeat in range(self._judge.repeats)]
        # All talks go on to their end before an exception is raised: their calls are paid for, and are journalled.
        ended = await asyncio.gather(*talks, return_exceptions=True)
        calls: list[JudgeCall] = []
        for talk in ended:
            if isinstance(talk, BaseException):
                raise talk
            calls.extend(talk)
        return tuple(calls)

    async def _complete(self, name: str, body: dict[str, Any], schema: dict[str, Any] | None) -> Response:
        return await self._wires[name].complete(body, schema)

    def identity(self) -> list[dict[str, Any]]:
        """Name, kind, model, address and settings of each model of the panel; free of secrets."""
        return [
            {"name": member.name} | _connection(member).identity() for member in self._judge.members if member.is_model
        ]

    def formats(self) -> dict[str, str]:
        """By judge, the response format that its server accepts as far as is known: schema, json or text."""
        return {name: wire.format for name, wire in self._wires.items()}

    def secrets(self) -> list[str]:
        """Values that must never reach store, log or report."""
        return [secret for wire in self._wires.values() for secret in wire.secrets()]

    async def _talk(self, member: Member, repeat: int, question: _Question) -> list[JudgeCall]:
        fence = new_fence(question.text)
        judge = self._judge.for_case(question.case)
        parser = self._parser if judge is self._judge else AnswerParser(judge)
        asked = asked_about(judge, question.findings)
        to_answer = shown_findings(asked, question.findings, fence)
        try:
            prompt = messages(asked, question.text, question.case, question.metrics, fence, to_answer)
        except SuiteError as error:  # as for a target: a template that this case cannot fill fails this case
            failed = CallResult(started_at=time.time(), tries=0, failure=Failure("bad_template", str(error)))
            return [JudgeCall(member.name, repeat, 0, failed)]
        text = prompt.messages
        calls: list[JudgeCall] = []
        reminded = False
        for turn in range(self._judge.ask_again + 1):
            call_result = await self._turn(member, repeat, turn, text, question, asked.response)
            calls.append(JudgeCall(member.name, repeat, turn, call_result, prompt.shortened))
            if call_result.failure is not None:
                break  # whoever carries the calls has tried as often as it is worth
            answer = call_result.text or ""
            parsed = parser.parse(answer, question.text, cut_off=call_result.cut_off)
            if parsed.value is not None and not parsed.broken_off:
                owed = owed_remarks(judge, parsed.value, question.findings, question.text)
                if not owed or reminded:
                    break
                reminded = True
                message = again([problem_of(remark, judge) for remark in owed], "Your answer is not complete")
            else:
                message = again([_be_shorter(member)] if parsed.broken_off else parsed.problems)
            text = _continued(text, answer, message)
        return calls

    async def _turn(
        self,
        member: Member,
        repeat: int,
        turn: int,
        text: list[dict[str, str]],
        question: _Question,
        response: dict[str, Any],
    ) -> CallResult:
        part, journal = f"judge/{member.name}/{repeat}/{turn}", question.journal
        if journal is not None and (retained := journal.get(part)) is not None:
            return retained
        connection = _connection(member)
        body = {"messages": text} | _sampling(connection, repeat, turn)
        caller = question.caller_of(member.name)
        call_result = await caller.perform(lambda: self.complete(member.name, body, response), connection.timeout)
        if journal is not None and call_result.failure is None:
            await journal.put(part, call_result)
        return call_result


def rules_judges(judge: JudgeModel, folder: Path) -> dict[str, RulesJudge]:
    """By name, the members of the panel that are code, looked up in the suite's folder first; UsageError when one
    cannot be found. Secrets that they can see are learned, so that nothing they say holds one."""
    learn_secrets([*(os.environ.get(name, "").strip() for name in judge.secrets), *secrets_in(os.environ)])
    return {
        member.name: member.settings if callable(member.settings) else find_callable(member.settings, folder, "judge")
        for member in judge.members
        if member.kind == "python"
    }


def _connection(member: Member) -> ChatConnection:
    if not isinstance(member.settings, ChatConnection):
        raise TypeError(f"judge {member.name}: the settings of a model are a ChatConnection")
    return member.settings


def _be_shorter(member: Member) -> str:
    most = _connection(member).max_tokens
    limit = "the limit of tokens" if most is None else f"the limit of {most} tokens"
    return f"it broke off at {limit}, before its end: be much shorter, with few words in each text and short lists"


def _sampling(connection: ChatConnection, repeat: int, turn: int) -> dict[str, Any]:
    """The fields of the body beside the messages. No two calls of a judge about one text share a seed."""
    seed = None if connection.seed is None else connection.seed + repeat + _SEEDS_A_TURN * turn
    fields = {"temperature": connection.temperature, "seed": seed, "max_tokens": connection.max_tokens}
    declared = {name: value for name, value in fields.items() if value is not None}
    return {"model": connection.model} | declared | connection.extra


def _continued(text: list[dict[str, str]], answer: str, message: dict[str, str]) -> list[dict[str, str]]:
    """The talk with the judge's answer and the message that says what is wrong with it.

    Many servers refuse an empty message and two from one side in a row, so after an empty answer the last message is
    said again with the complaint behind it.
    """
    if not answer.strip():
        *before, last = text
        return [*before, last | {"content": f"{last['content']}\n\n{message['content']}"}]
    shown = answer if len(answer) <= _MOST_ECHOED else answer[:_MOST_ECHOED] + " [...]"
    return [*text, {"role": "assistant", "content": shown}, message]

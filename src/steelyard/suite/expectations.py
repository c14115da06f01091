"""What a suite expects of an answer: named checks, one kind each, that pass, fail or do not run."""

from __future__ import annotations

import re
from typing import Any

from steelyard import registry
from steelyard.errors import UserMistake
from steelyard.suite.draft import Draft
from steelyard.suite.model import AnswerShape, Component, Hold, TargetSpec
from steelyard.suite.problems import Place
from steelyard.suite.spelling import found, listed, meant

EXPECT = "expect"
"""The component that stands for all checks, and the key that declares them."""
SCHEMA = "schema"
_NAME = re.compile(r"[^\W\d][\w-]*")


def build_expectations(raw: dict[str, Any], answer: AnswerShape, draft: Draft, *, alone: bool) -> Component | None:
    """The component of the suite's `expect`, or None when it has none or everything wrong with it is noted."""
    given = raw.get(EXPECT)
    if given is None:
        if raw.get("hold") is not None:
            draft.tell("hold says in how many repeats a check must pass: there is no expect", ("hold",))
        return None
    if not isinstance(given, dict):
        return None  # already told by the check of the whole file
    if not given:
        draft.tell(
            "expect is empty: give at least one check, as in {how_many: {count: items[], between: [1, 3]}}", (EXPECT,)
        )
        return None
    if isinstance(raw.get("score"), dict) and EXPECT in raw["score"]:
        draft.tell("score.expect: this name stands for the checks of expect: choose another", ("score", EXPECT))
    before = len(draft.mistakes)
    with_schema = answer.format == "json" and answer.schema is not None
    checks = {name: _check(str(name), part, answer, draft, with_schema=with_schema) for name, part in given.items()}
    if len(draft.mistakes) > before:
        return None
    hold = Hold(raw["hold"]) if raw.get("hold") in [one.value for one in Hold] else Hold.ALL
    parameters = {"answer": "", "checks": checks, "hold": hold, "with_schema": with_schema, "alone": alone}
    scorer = draft.check_part(registry.find("expectations", EXPECT), parameters, (EXPECT,))
    if scorer is None:
        return None
    # A failed check is a finding of its own, so that a low share is none.
    return Component(EXPECT, scorer, when_unknown="skip", wrong_below=0.0, code=EXPECT.upper(), scorer_name=EXPECT)


def tell_unreachable_errors(expectations: Component | None, target: TargetSpec | None, draft: Draft) -> None:
    """Note each check of an error status that can never pass: the target counts every error as a failed call."""
    if expectations is None or target is None or target.kind != "http" or target.settings.expect_errors is not None:
        return
    for name, check in expectations.scorer.checks.items():
        wanted = getattr(check, "status", None)
        statuses = wanted if isinstance(wanted, list) else [wanted]
        if wanted is not None and all(str(one)[0] not in "12" for one in statuses):
            told = ", ".join(str(one) for one in statuses)
            draft.tell(
                f"expect.{name} asks for status {told}, and the target takes every error for a failed call: "
                f"write expect_errors: {{status: [{told}]}} into it",
                (EXPECT, name),
            )


def _check(name: str, part: Any, answer: AnswerShape, draft: Draft, *, with_schema: bool) -> Any:
    """The check of that name, or None with everything wrong noted."""
    place: Place = (EXPECT, name)
    _check_name(name, place, draft, with_schema=with_schema)
    kinds = registry.names("checks")
    if not isinstance(part, dict):
        draft.tell(f"expect.{name} must be one check, as in {{count: items[], between: [1, 3]}}; {found(part)}", place)
        return None
    named = [key for key in part if key in kinds]
    if len(named) != 1:
        _tell_kind(name, part, named, kinds, draft)
        return None
    try:
        rule = registry.find("checks", named[0])
    except UserMistake as error:
        draft.tell(f"expect.{name}: {error}", (*place, named[0]))
        return None
    built = draft.check_part(rule, part, place)
    if built is not None and answer.format != "json" and built.reads_json:
        draft.tell(f"expect.{name}: {named[0]} reads JSON: write answer: {{format: json}}, or a schema", place)
    return built


def _check_name(name: str, place: Place, draft: Draft, *, with_schema: bool) -> None:
    if not _NAME.fullmatch(name):
        draft.tell(
            f"expect: a check's name is letters, digits, _ and -, and starts with a letter; found {name!r}", place
        )
    elif name == SCHEMA and with_schema:
        draft.tell(
            "expect.schema: this name stands for the suite's schema, which is checked anyway: choose another", place
        )


def _tell_kind(name: str, part: dict[str, Any], named: list[str], kinds: list[str], draft: Draft) -> None:
    place: Place = (EXPECT, name)
    if named:
        draft.tell(f"expect.{name} names {len(named)} kinds of check ({listed(named)}): one check has one", place)
        return
    for key in part:
        if hint := meant(str(key), kinds):
            draft.tell(f"expect.{name}: unknown kind of check {key!r}{hint}", (*place, key))
            return
    draft.tell(f"expect.{name} names no kind of check; there are: {listed(kinds)}", place)

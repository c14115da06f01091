"""An experiment file: a hypothesis, one factor, two arms and the criteria, written before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from steelyard.errors import Problem, SuiteError, UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import holds_suite
from steelyard.metrics.expression_checks import PlacedProblem, SuiteNames, check_gate, overlap
from steelyard.metrics.expressions import Gate, parse_gate
from steelyard.records import ExperimentPlan
from steelyard.suite.case import digest
from steelyard.suite.draft import Draft
from steelyard.suite.files import text_of
from steelyard.suite.values import Anything, Rate, Share
from steelyard.suite.yaml import Located, listed, meant, read_yaml, result

ARMS = ("baseline", "candidate")
FACTORS = ("target", "service", "model", "prompt", "parameter", "variant", "judge", "load")
"""What an experiment may mean to change."""


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _factor(value: Any) -> Any:
    if isinstance(value, str) and value not in FACTORS:
        hint = meant(value, FACTORS) or f"; one of: {listed(FACTORS)}"
        raise ValueError(f"{value!r} is no factor{hint}")
    return value


Texts = Annotated[list[str], BeforeValidator(_several)]
Factor = Annotated[str, BeforeValidator(_factor)]


class PlanPart(BaseModel):
    """A group of keys in the file of an experiment."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class ArmPart(PlanPart):
    """How one arm is run: what `steelyard run` takes under the same names. What is left out is as the suite says."""

    target: str | None = Field(default=None, description="One of the suite's targets, or a kind of target.")
    model: str | None = Field(default=None, description="The setting `model` of the target.")
    base_url: str | None = Field(default=None, description="The setting `base_url` of the target.")
    set_: dict[str, Anything] = Field(default={}, alias="set", description="Any other settings of the target.")
    variant: str | None = Field(default=None, description="Score this variant of the suite alone.")
    judge: str | None = Field(default=None, description="One of the suite's judges, or where a chat model listens.")
    judge_model: str | None = Field(default=None, description="The model that judges.")
    judge_token: str | None = Field(default=None, description="The environment variable that holds the judge's key.")
    judge_repeats: int | None = Field(default=None, ge=1, description="How often each text is judged.")
    repeats: int | None = Field(default=None, ge=1, le=10_000, description="How often each case is asked.")
    concurrency: int | None = Field(default=None, ge=1, le=10_000, description="Most calls at the same time.")
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="Seconds for one call.")
    retries: int | None = Field(default=None, ge=0, le=100, description="How often a failed call is made again.")
    rps: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="Most calls a second.")
    rate: Rate | None = Field(default=None, description="Open load: calls that fall due each second; 20/s or 90/min.")
    warm_up: int | None = Field(default=None, ge=0, le=10_000, description="Calls before the clock starts.")
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="Most that an arm may cost.")
    max_inconclusive: Share | None = Field(
        default=None, description="Above this share of failed samples a run is INVALID."
    )


class CriteriaPart(PlanPart):
    """When the candidate is adopted, and when it is rejected."""

    adopt: Texts = Field(min_length=1, description="All of these must be met: better, not worse, or gates.")
    reject: Texts = Field(default=[], description="One of these is enough; left out, whatever is not adopted.")


class ExperimentPart(ArmPart):
    """An experiment; what both arms have in common stands beside them."""

    experiment: str = Field(min_length=1, max_length=100, description="The experiment's name.")
    hypothesis: str = Field(min_length=1, description="What the change is expected to do, in a sentence.")
    suite: str = Field(min_length=1, description="The suite that scores both: a path, or the name of a built-in one.")
    cases: str | None = Field(default=None, description="Score the cases of this folder or file instead.")
    factor: Factor = Field(description="The one thing that is meant to change.")
    baseline: ArmPart = Field(description="How it is now.")
    candidate: ArmPart = Field(description="How it may become.")
    criteria: CriteriaPart = Field(description="Written beforehand: when to adopt and when to reject.")
    only: Texts = Field(default=[], description="Score a part: category=, difficulty=, tag=, id= or input.FIELD=.")
    limit: int | None = Field(default=None, ge=1, description="Run at most this many cases.")
    strict: bool = Field(default=False, description="Score by the strict rule of every scorer that has one.")
    cache: bool = Field(default=False, description="Cache answers, and reuse cached ones.")


@frozen
class ExperimentFile:
    """An experiment as it was written."""

    part: ExperimentPart
    file: Path
    located: Located
    """To name the line of a mistake that is found later."""

    @property
    def name(self) -> str:
        """What runs of it are marked with."""
        return self.part.experiment

    def place(self, written: str) -> str:
        """A suite or cases beside the experiment's file where there are any, else as written."""
        extra = self.file.parent / written
        return str(extra) if holds_suite(extra) or (extra.is_dir() and written != self.part.suite) else written

    def settings(self, arm: str) -> dict[str, Any]:
        """Everything that was said of an arm, for both or for it alone, by key."""
        own: ArmPart = getattr(self.part, arm)
        shared, text = self.part.model_dump(include=set(ArmPart.model_fields)), own.model_dump(exclude_unset=True)
        together = shared | text | {"set_": shared["set_"] | text.get("set_", {})}
        return {_KEYS[name]: value for name, value in together.items() if value not in (None, {})}

    def check_criteria(self, names: SuiteNames) -> None:
        """SuiteError with every gate that the suite cannot decide: a metric or name it does not have, one that cannot
        fail. Called before anything is run, so that no experiment ends with a criterion that stands on nothing."""
        criteria, problems = self.part.criteria, []
        for which, at, text in _numbered(criteria.adopt, criteria.reject):
            if comparison_word(text) is None and (problem := check_gate(parse_gate(text, ""), names)):
                problems.append(self.located.problem(f"criteria.{which}: {problem}", ("criteria", which, at)))
        if problems:
            raise SuiteError(problems)

    def plan(self) -> ExperimentPlan:
        """What is stored with both runs before the first call."""
        part = self.part
        plan = ExperimentPlan(
            name=part.experiment,
            hypothesis=part.hypothesis,
            suite=part.suite,
            factor=part.factor,
            adopt=tuple(part.criteria.adopt),
            reject=tuple(part.criteria.reject),
            cases=digest([part.cases, sorted(part.only), part.limit, part.strict]),
            arms={arm: _hashed(self.settings(arm)) for arm in ARMS},
        )
        return replace(plan, digest=digest(asdict(plan)))


_KEYS = {name: field.alias or name for name, field in ArmPart.model_fields.items()}


def _hashed(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _hashed(value) if name == "set" else value if isinstance(value, int | float) else digest(value)
        for name, value in settings.items()
    }


def changed_since(plan: ExperimentPlan | None, now: ExperimentPlan) -> list[str]:
    """The parts of a stored plan that are others in the file now, by the names they have in it."""
    if plan is None:
        return []
    parts = {name: name for name in ("hypothesis", "suite", "factor", "cases")}
    parts |= {"adopt": "criteria.adopt", "reject": "criteria.reject"}
    results = [written for name, written in parts.items() if getattr(plan, name) != getattr(now, name)]
    return results + [arm for arm in ARMS if plan.arms.get(arm) != now.arms.get(arm)]


def experiment_draft(file: Path, *, keys: str, guide: str) -> Draft:
    """The file of an experiment, offline or online, before its keys are checked.

    `keys` names some of them and `guide` where it is written how to write one, for messages.
    """
    if not file.is_file():
        raise UsageError(f"there is no experiment at {file}: write one ({guide})")
    try:
        located = read_yaml(text_of(file, file.name), file.name)
    except SuiteError:
        raise
    except ValueError as error:
        raise SuiteError([Problem(str(error))]) from None
    draft = Draft(located, file.parent)
    draft.problems.extend(located.problems)
    if not isinstance(located.data, dict):
        draft.add_problem(f"an experiment is a group of keys ({keys}, ...); {result(located.data)}")
        draft.finish()
    return draft


def read_experiment(file: Path) -> ExperimentFile:
    """The experiment in a file; SuiteError with every mistake in it, with file and line."""
    draft = experiment_draft(file, keys="experiment, hypothesis, suite", guide="docs/experiments.md")
    part = draft.check(ExperimentPart, draft.located.data)
    if part is not None:
        for message, place in _criteria_problems(part.criteria.adopt, part.criteria.reject, part.factor):
            draft.add_problem(message, place)
    draft.finish()
    if part is None:
        raise AssertionError("an experiment that cannot be read must have a mistake")
    return ExperimentFile(part, file, draft.located)


COMPARISON_WORDS = {
    "better": ("better",),
    "not better": ("same", "worse"),
    "worse": ("worse",),
    "not worse": ("same", "better"),
}
"""What a criterion of an experiment may say of the comparison of both arms; everything else is a gate."""


def comparison_word(text: str) -> str | None:
    """The word about the comparison that a criterion is, or None when it is a gate."""
    plain = " ".join(text.lower().split())
    return plain if plain in COMPARISON_WORDS else None


def word_holds(word: str, moved: str) -> bool | None:
    """Whether a word is true of a comparison that came out as `moved`; None when it cannot be decided."""
    return moved in COMPARISON_WORDS[word] if moved in ("better", "worse", "same") else None


def _criteria_problems(adopt: Sequence[str], reject: Sequence[str], factor: str) -> Iterator[PlacedProblem]:
    """Every mistake in the criteria of an experiment that can be seen without its suite, with its place."""
    gates: dict[str, list[Gate]] = {"adopt": [], "reject": []}
    for which, at, text in _numbered(adopt, reject):
        if comparison_word(text) is None:
            try:
                gates[which].append(parse_gate(text, "criterion"))
            except ValueError as error:
                hint = meant(text.strip(), COMPARISON_WORDS)
                problem = f"{text!r} is no criterion{hint}" if hint else str(error)
                yield f"criteria.{which}: {problem}", ("criteria", which, at)
        elif factor == "judge":
            problem = (
                f"{text!r} can never be decided when the judge is the factor: two judges are two scales. Write"
                f" gates, or check each judge: steelyard judge check"
            )
            yield f"criteria.{which}: {problem}", ("criteria", which, at)
    words = [(a, b) for a in map(comparison_word, adopt) for b in map(comparison_word, reject) if a and b]
    both = [(a, b) for a, b in words if {*COMPARISON_WORDS[a]} & {*COMPARISON_WORDS[b]}]
    both += [(a.text, b.text) for a in gates["adopt"] for b in gates["reject"] if overlap(a, b)]
    for a, b in both:
        yield (
            f"criteria: {a!r} (adopt) and {b!r} (reject) could both be met: leave room between them",
            ("criteria", "reject"),
        )


def _numbered(adopt: Sequence[str], reject: Sequence[str]) -> list[tuple[str, int, str]]:
    both = (("adopt", adopt), ("reject", reject))
    return [(which, at, text) for which, texts in both for at, text in enumerate(texts)]

"""A judge: its rubric, settings, evidence and who judges, as a file writes it, as it judges, and as a run stores it.

`JudgeModel` is all three: see `suite.models`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_serializer,
    field_validator,
    model_validator,
)

from steelyard.frozen import frozen
from steelyard.plugins import PROVIDERS
from steelyard.records import Mode
from steelyard.suite.case import Case
from steelyard.suite.paths import MISSING, Getter, compile_path, in_answer, split_path
from steelyard.suite.values import (
    PLACE_SCHEMA,
    UNWRITTEN,
    Anything,
    Group,
    InFile,
    Key,
    Label,
    Scale,
    SuitePart,
    TextFile,
    Texts,
    raise_located,
)
from steelyard.suite.yaml import result
from steelyard.suite_code import place_of

_BY_SCORE = {
    "type": "object",
    "propertyNames": {"pattern": "^-?[0-9]+$"},
    "additionalProperties": {"type": "string"},
}
_EMPTY: dict[str, Any] = {"default": {}}
LISTED = "listed"
"""The count of all elements of a list, whatever their word: no word may be called so."""


def _keys_as_text(value: Any) -> Any:
    """YAML's keys are texts, those of a suite in Python may be numbers."""
    if not isinstance(value, dict):
        return value
    return {
        str(key) if isinstance(key, int) and not isinstance(key, bool) else key: item for key, item in value.items()
    }


def _is_score(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _highest_first(texts: dict[str, str]) -> dict[str, str]:
    return dict(sorted(texts.items(), key=lambda item: -int(item[0]))) if all(map(_is_score, texts)) else texts


ByScore = Annotated[
    dict[str, str], BeforeValidator(_keys_as_text), AfterValidator(_highest_first), WithJsonSchema(_BY_SCORE)
]
"""Texts by score, highest first."""


class Dimension(SuitePart):
    """One thing that is scored."""

    name: Key
    about: str = Field(default="", description="What is looked at, in a sentence.")
    weight: float = Field(
        default=1.0, ge=0, allow_inf_nan=False, description="How much it counts; 0 is shown and does not count."
    )
    scores: ByScore = Field(default={}, description="What each score means.")
    examples: ByScore = Field(default={}, description="An example for some of the scores.")
    needs: str = Field(
        default="", description="Path to what a case must hold for this to be judged, such as input.question."
    )

    @field_validator("needs")
    @classmethod
    def _is_in_the_case(cls, needs: str) -> str:
        if needs and split_path(needs)[0] not in ("input", "expected"):
            raise ValueError(f"it is a path into the case, such as input.question; {result(needs)}")
        return needs


class Flag(SuitePart):
    """A yes or no that the judge says of a text."""

    name: Key
    about: str = Field(default="", description="What it says, in a sentence.")
    triggers: Texts = Field(default=(), description="What sets it.")
    fails: bool = Field(default=True, description="Whether a flagged sample has not passed.")


def _ascending(scale: tuple[int, int]) -> tuple[int, int]:
    low, high = scale
    if low >= high:
        raise ValueError(f"{low} is not below {high}")
    return scale


_INTEGERS = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
_NEUTRAL = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}


class Rubric(SuitePart):
    """What is judged and on which scale."""

    version: Label = Field(default="", description="The rubric's own version, for people.")
    scale: Annotated[tuple[int, int], Field(strict=False), AfterValidator(_ascending), WithJsonSchema(_INTEGERS)] = (
        Field(default=(1, 5), description="Lowest and highest score, whole numbers.")
    )
    neutral: Annotated[int, WithJsonSchema(_NEUTRAL)] = Field(
        default=3,
        json_schema_extra={"default": None},
        description="Where a judge starts; above it evidence is asked for, below it is a finding. Default: the middle.",
    )
    calibration: Texts = Field(default=(), description="Notes on how to use the scale.")
    dimensions: Annotated[tuple[Dimension, ...], Group()] = Field(
        json_schema_extra={"minProperties": 1}, description="What is scored, by name."
    )
    flags: Annotated[tuple[Flag, ...], Group()] = Field(
        default=(), json_schema_extra=_EMPTY, description="Yes-or-no questions, by name."
    )

    @model_validator(mode="before")
    @classmethod
    def _starts_in_the_middle(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or data.get("neutral") is not None:
            return data
        scale = data.get("scale", (1, 5))
        if not isinstance(scale, list | tuple) or len(scale) != 2 or not all(type(end) is int for end in scale):
            return {key: value for key, value in data.items() if key != "neutral"}
        return {**data, "neutral": max(scale[0] + 1, sum(scale) // 2)}

    @field_validator("dimensions")
    @classmethod
    def _are_some(cls, dimensions: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
        if not dimensions:
            raise ValueError("give at least one")
        return dimensions

    @model_validator(mode="after")
    def _fits_its_scale(self) -> Self:
        low, high = self.scale
        problems: list[tuple[str, tuple[str | int, ...]]] = []
        if not low <= self.neutral <= high:
            problems.append((f"{self.neutral} is not on the scale from {low} to {high}", ("neutral",)))
        elif self.neutral == low:
            problems.append((f"{low} is the lowest score, and nothing could ever be below it", ("neutral",)))
        scored = [dimension for dimension in self.dimensions if dimension.weight]
        if scored and all(dimension.needs for dimension in scored):
            problem = "every dimension with a weight needs something, so that a case without it could earn nothing"
            problems.append((problem, ("dimensions",)))
        for dimension in self.dimensions:
            for key, texts in (("scores", dimension.scores), ("examples", dimension.examples)):
                at = ("dimensions", dimension.name, key)
                strange = [score for score in texts if not _is_score(score) or not low <= int(score) <= high]
                problems += [(f"is not a score from {low} to {high}", (*at, score)) for score in strange]
        raise_located(problems)
        return self

    @property
    def low(self) -> int:
        """The lowest score."""
        return self.scale[0]

    @property
    def high(self) -> int:
        """The highest score."""
        return self.scale[1]

    @property
    def names(self) -> tuple[str, ...]:
        """All dimensions, then all flags."""
        return (*(dimension.name for dimension in self.dimensions), *(flag.name for flag in self.flags))


def _path_of_answer(path: str) -> str:
    split_path(path)
    return path


AnswerPath = Annotated[str, AfterValidator(_path_of_answer)]


class Reasons(SuitePart):
    """Reasons that the judge gives before its scores."""

    place: AnswerPath = Field(alias="in", min_length=1, description="The field of its answer that lists them.")
    at_least: int = Field(default=0, ge=0, le=100, description="How many are asked for.")


ANSWER, PASSAGES = "answer", "passages"
"""Under which component and name the metrics of an answer hold the texts in it that a judge quotes from."""


class Evidence(SuitePart):
    """Quotes that the judge owes for scores above the neutral one; they are looked up in the text, or in passages."""

    place: AnswerPath = Field(alias="in", min_length=1, description="The field of its answer that holds them.")
    unproven: Literal["neutral", "report"] = Field(
        default="neutral", description="A score without a quote is capped at neutral, or only reported."
    )
    fewest_words: int = Field(default=2, ge=1, le=100, description="A shorter quote proves nothing.")
    dimensions: Texts = Field(default=(), description="Those that must be proven; left out, all.")
    quotes_from: AnswerPath = Field(
        default="",
        description="Path into the case to a text, or texts, that are quoted: input.passages; or, as answer.<path>, "
        "into the answer: what it retrieved. Left out, the text that is judged.",
    )

    @property
    def source(self) -> str:
        """What is quoted from, in words."""
        return self.quotes_from or "the text"

    @property
    def of_answer(self) -> Getter | None:
        """From an answer to the texts in it that are quoted from; None where these are not a part of the answer."""
        path = in_answer(self.quotes_from)
        return None if path is None else compile_path(path)

    def in_answer(self, answer: Any) -> list[str]:
        """The texts of the answer that are quoted from; none where it has none, and then nothing is proven."""
        value = None if self.of_answer is None else self.of_answer(answer)
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return [text for text in texts if isinstance(text, str)]

    def passages(self, case: Case) -> tuple[str, ...]:
        """The texts of the case that are quoted from; ValueError when it has none there."""
        value = compile_path(self.quotes_from)(case)
        texts = (value,) if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
            problem = "is missing" if value is MISSING else f"is no text and no list of texts; {result(value)}"
            raise ValueError(f"judge.evidence.quotes_from: {self.quotes_from} {problem}: write [] where there is none")
        return tuple(texts)


CONFIRMED, REBUTTED, UNANSWERED = "confirmed", "rebutted", "unanswered"
"""What a judge may answer to a finding of a scorer."""
ANSWERED_AS = (CONFIRMED, REBUTTED, UNANSWERED)


class MustAnswer(SuitePart):
    """Findings of scorers that are evidence to a model and bind it to nothing: it confirms or rebuts each of them."""

    place: Key = Field(alias="in", description="The field of its answer that lists what it says of each.")
    findings: Texts = Field(description="The codes of the findings that it must answer.")


class FigureFile(SuitePart):
    """A figure made of what the judge says beyond its scores; it is shown, compared and gated, and has no weight."""

    mean: str = Field(
        default="",
        description="Path into its answer to a number, for its mean over the texts; a step * is every key there.",
    )
    count: str = Field(default="", description="Path to the words of a list, faults[].reason: how often each is said.")
    keys: list[Label] = Field(
        default=[],
        description="The keys of *, or the words that are counted; left out, as the response lists them.",
    )
    scale: Scale | None = Field(default=None, description="Lowest and highest number; left out, the rubric's.")
    about: str = Field(default="", description="What it says, in a few words.")


class SaidMean(SuitePart):
    """A number that a judge says beyond its scores: its mean over the texts that have it is a figure."""

    figure: str
    """What the suite calls it."""
    key: str
    """Which of several of a kind it is; "" when there is one."""
    path: str
    """Where in the judge's answer it stands."""
    scale: Scale
    about: str = ""

    @property
    def name(self) -> str:
        """What its scores and its figure are called."""
        return f"{self.figure}_{self.key}" if self.key else self.figure


class SaidCount(SuitePart):
    """Words that a judge says in a list beyond its scores: how often each is said is counted over all texts."""

    name: str
    words: Texts
    list_path: str
    """Where in the judge's answer the list stands."""
    word_path: str
    """Where in an element of it the word stands; "" when the element is the word."""
    about: str = ""


MODELS = ("chat", *PROVIDERS)
"""The kinds of targets and judges that are models, by the protocol in which they are asked."""


class Member(SuitePart):
    """One who can judge: a model at an address, or a function."""

    name: str = ""
    kind: str = ""
    """One of `MODELS`, or `python`."""
    model: str | None = None
    address: str | None = None
    function: str | None = None
    settings: Any = Field(default=None, exclude=True)
    """Of a model its connection, of `python` the function or its place; None for one of a stored run."""

    @model_validator(mode="before")
    @classmethod
    def _as_set(cls, data: Any) -> Any:
        settings = data.get("settings") if isinstance(data, dict) else None
        if settings is None:
            return data
        if data.get("kind") == "python":
            return {"function": place_of(settings)} | data
        return {"model": getattr(settings, "model", None), "address": getattr(settings, "base_url", None)} | data

    @property
    def is_model(self) -> bool:
        """Whether it is asked; else it is code."""
        return self.kind != "python"

    @property
    def label(self) -> str:
        """What people call it: its model or function, else its name."""
        return self.model or self.function or self.name


def _not_loaded(_: Mapping[str, Any]) -> bool:
    raise ValueError("the rules of a stored run are texts: load its suite")


@frozen
class BindingRule:
    """`when <condition> then <dimension> <= k and <flag>`: applied in code to whatever the judge says."""

    text: str
    holds: Callable[[Mapping[str, Any]], bool] = _not_loaded
    """From the metrics by component to whether the condition is met; ValueError when one of them is no number."""
    caps: dict[str, float] = field(default_factory=dict)
    """The most that each named dimension may get."""
    raises: tuple[str, ...] = ()
    """The flags that are set."""
    names: tuple[tuple[str, str], ...] = ()
    """Component and metric of all that the condition speaks of."""


RuleByText = Annotated[
    BindingRule,
    BeforeValidator(lambda value: BindingRule(value) if isinstance(value, str) else value),
    PlainSerializer(lambda rule: rule.text),
]
"""A rule, of which a run stores the text."""


class JudgeModel(SuitePart):
    """How answers are judged with a rubric, and by whom.

    It is the schema of `judge` in suite files, what judges, and what a run's header keeps for reports and
    `judge check`. Everything here but labels and thresholds is part of the signature.
    """

    rubric: Annotated[Rubric, InFile(str | dict[str, Anything], needed=True)] = Field(
        default=Rubric.model_construct(dimensions=()), description="What is judged: a file, or written here."
    )
    """Without dimensions where a run of another tool does not say."""
    scores_in: str = Field(
        default="", description="The field of the judge's answer that holds scores and flags; left out, its top."
    )
    reasons: Reasons | None = Field(default=None, description="Which reasons it gives before its scores.")
    evidence: Evidence | None = Field(default=None, description="Which quotes it owes.")
    must_answer: MustAnswer | None = Field(
        default=None,
        description="Findings of scorers that it is shown and must answer: confirm with a quote, or rebut.",
    )
    secrets: Texts = Field(
        default=(),
        description="Names of environment variables that judges in code read and whose values must never reach store,"
        " log or report; those whose name looks like a secret's need not be named.",
    )
    of: str = Field(default="", description="Path into a JSON answer to what is judged; left out, the whole answer.")
    repeats: int = Field(default=1, ge=1, le=100, description="How often each of them judges a text.")
    combine: Literal["median", "majority"] = Field(default="median", description="How several scores are combined.")
    flags: Literal["majority", "any"] = Field(default="majority", description="When the flags of several are set.")
    disagreement: float = Field(
        default=2.0, gt=0, allow_inf_nan=False, description="Scores of one text this far apart get a remark."
    )
    most_characters: int = Field(
        default=24_000,
        ge=200,
        description="Of a longer text only the beginning and the end are shown, and the vote is marked so.",
    )
    ask_again: int = Field(
        default=1,
        ge=0,
        le=10,
        description="How often a judge whose answer cannot be used is asked again, with the reason; once for too few"
        " reasons or a finding without an answer.",
    )
    allow_self: bool = Field(default=False, description="Whether the system under test may be its own judge.")
    labels: str = Field(
        default="", description="Path into the case to the labels of a human reviewer; no judge sees them."
    )
    labelled: str = Field(
        default="",
        description="Path into the case to the text that was labelled, unless that is in the input: labels count"
        " for this text alone; no judge sees it.",
    )
    labels_are: Literal["random", "chosen"] = Field(
        default="chosen",
        description="How the texts with labels came about: sampled at random from all, which is compared with the"
        " others, or chosen. Labels of chosen texts give no rate of all texts.",
    )
    require_checked: bool = Field(
        default=False, description="Whether gates on what the judge says cannot pass while too few texts have labels."
    )
    constant: Texts = Field(
        default=(),
        description="Dimensions in which one and the same score for every text is expected: a polite agent is always"
        " polite.",
    )
    epsilon: float = Field(
        default=0.2,
        ge=0,
        lt=1,
        description="What a judge's cheapness is worth in the alternative annotator test: how much less often than a"
        " person it may agree with the other people.",
    )
    health: Texts = Field(default=(), description="What `judge check` asks of the judge: agreement.tone.kappa >= 0.6.")
    system: Annotated[str, InFile(str | TextFile)] = Field(
        default="", exclude=True, description="Template of the system message, or {file: PATH}."
    )
    """See judging.prompt for the names it may use."""
    user: Annotated[str, InFile(str | TextFile)] = Field(
        default="", exclude=True, description="Template of the user message, or {file: PATH}."
    )
    response: Annotated[dict[str, Any], InFile(str | dict[str, Anything] | None)] = Field(
        default={},
        exclude=True,
        json_schema_extra={"default": None},
        description="JSON Schema of the judge's answer: a file, or written here; left out, made from the rubric.",
    )
    """Reasons come before scores."""
    shown: Annotated[str, InFile(str | TextFile)] = Field(
        default="",
        exclude=True,
        description="Template of how what is judged is shown to a model, which may use `part`; or {file: PATH}.",
    )
    rules: Annotated[tuple[RuleByText, ...], InFile(list[str])] = Field(
        default=(),
        validation_alias="bind",
        description="Rules that are applied in code: when a.coverage < 90 % then tone <= 3.",
    )
    check: Annotated[Any, WithJsonSchema(PLACE_SCHEMA)] = Field(
        default=None,
        description="A function of your own, module:function, that checks the judge's complaints against the answer.",
    )
    """`(reply, text, case, metrics) -> Checked`, or its place."""
    figures: dict[str, FigureFile] = Field(
        default={}, exclude=True, description="What else of its answer is made into figures, by name: means and counts."
    )
    by: str | list[str] | None = Field(
        default=None, exclude=True, description="Who judges: a name of `judges`, or several."
    )
    judges: Annotated[dict[str, Member], InFile(Annotated[dict[str, Anything], Field(min_length=1)], needed=True)] = (
        Field(default={}, exclude=True, description="All who can judge, by name.")
    )

    members: Annotated[tuple[Member, ...], UNWRITTEN] = ()
    """Who judges: one, or a panel."""
    mode: Annotated[Mode, Field(strict=False), UNWRITTEN] = Mode.MODEL
    """What kind of judge it is: code, or a language model. A panel is of one kind."""
    means: Annotated[tuple[SaidMean, ...], UNWRITTEN] = Field(default=(), exclude=True)
    counts: Annotated[tuple[SaidCount, ...], UNWRITTEN] = Field(default=(), exclude=True)
    """What is made of `figures`; it has no weight."""

    @model_validator(mode="before")
    @classmethod
    def _without_gaps(cls, data: Any, info: ValidationInfo) -> Any:
        """An empty rubric is none; the mode is that of who judges unless a run says otherwise."""
        if info.context is not None or not isinstance(data, dict):
            return data
        given = {key: value for key, value in data.items() if key != "rubric" or value}
        return given if "mode" in given else given | {"mode": _mode(given.get("members", ()))}

    @field_serializer("check")
    def _place(self, check: Any) -> str | None:
        return None if check is None else place_of(check)

    def has(self, need: str) -> bool:
        """Whether it has what a metric needs: labels, binding rules, quotes that it owes, and so on; of "" always."""
        return {
            "": True,
            "labels": bool(self.labels),
            "rules": bool(self.rules),
            "evidence": self.evidence is not None,
            "check": self.check is not None,
            "reasons": self.reasons is not None and self.reasons.at_least > 0,
            "must_answer": self.must_answer is not None,
            "dimensions": len(self.rubric.dimensions) > 1,
        }[need]

    def judged_by(self, members: tuple[Member, ...], **changes: Any) -> JudgeModel:
        """The same judge with others who judge, and other values of these fields."""
        return self.model_copy(update={"members": members, "mode": _mode(members)} | changes)

    def for_case(self, case: Case) -> JudgeModel:
        """The judge without the dimensions that need what this case does not hold; itself when there are none."""
        left_out = {
            dimension.name
            for dimension in self.rubric.dimensions
            if dimension.needs and _is_blank(compile_path(dimension.needs)(case))
        }
        if not left_out:
            return self
        dimensions = tuple(dimension for dimension in self.rubric.dimensions if dimension.name not in left_out)
        proven = () if self.evidence is None else self.evidence.dimensions
        owed = tuple(name for name in proven if name not in left_out)
        response = _asking_less(self.response, left_out)
        if self.scores_in in response.get("properties", {}):
            inner = _asking_less(response["properties"][self.scores_in], left_out)
            response = response | {"properties": response["properties"] | {self.scores_in: inner}}
        return self.model_copy(
            update={
                "rubric": self.rubric.model_copy(update={"dimensions": dimensions}),
                "evidence": self.evidence and self.evidence.model_copy(update={"dimensions": owed}),
                "response": response,
            }
        )


def _mode(members: Iterable[Any]) -> Mode:
    return Mode.RULES if all(getattr(member, "kind", "") == "python" for member in members) else Mode.MODEL


def _is_blank(value: Any) -> bool:
    """True when nothing is there: missing, null, an empty list or group, an empty or blank text."""
    return not (value.strip() if isinstance(value, str) else value or value == 0)


def _asking_less(schema: dict[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """The schema of an object without these fields."""
    retained = {name: inner for name, inner in schema.get("properties", {}).items() if name not in left_out}
    required = [name for name in schema.get("required", ()) if name not in left_out]
    return schema | {"properties": retained, "required": required} if retained else schema


NOT_CALLED = "it was not called"
"""Why a vote is missing whose judge was never called, as where a scorer failed first."""

REMARKS: Mapping[str, str] = {
    "RULE_BROKEN": "a score or flag that a binding rule of the suite forbids",
    "UNPROVEN": "a score above the neutral one without a quote from the text",
    "MADE_UP_QUOTE": "a quote that is not in the text",
    "TOO_FEW_REASONS": "fewer reasons than asked for",
    "UNANSWERED_FINDING": "a finding of a scorer that the judge had to answer and did not",
    "REBUTTED_FINDING": "a finding of a scorer that the judge rebutted: one of the two is wrong",
    "VIOLATION": "a score that is missing, out of range or no number: the judge was asked again or failed",
    "DISAGREEMENT": "scores of panel members or repeats far apart",
    "CONTRADICTION": "a complaint that the answer contradicts: it is counted, and has no effect",
    "SELF_CONTRADICTION": "scores that do not fit the errors that the judge lists itself",
    "CUT_OFF": "an answer that broke off at the limit of tokens: only its scores are used",
    "NO_MAJORITY": "no majority in the panel",
    "EXTRA_FIELD": "an unexpected field: it is ignored",
    "NOT_AS_ASKED": "a value or entry beside the scores that does not fit the response schema: it alone is not used",
}
"""What can be wrong with a judge, by code."""


def dimension_code(name: str) -> str:
    """The code of a dimension that is below the neutral score, and of a flag that is set."""
    return name.upper()

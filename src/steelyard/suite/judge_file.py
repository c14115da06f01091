"""The judge and its rubric as they are written, key by key; the published schema is made from this too."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from steelyard.suite.file import PLACE_SCHEMA, Anything, Label


def _keys_as_text(value: Any) -> Any:
    """YAML's keys are texts, those of a suite in Python may be numbers."""
    if not isinstance(value, dict):
        return value
    return {str(key) if isinstance(key, int) and not isinstance(key, bool) else key: one for key, one in value.items()}


_BY_SCORE = {
    "type": "object",
    "propertyNames": {"pattern": "^-?[0-9]+$"},
    "additionalProperties": {"type": "string"},
}
ByScore = Annotated[dict[str, str], BeforeValidator(_keys_as_text), WithJsonSchema(_BY_SCORE)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class DimensionPart(_Part):
    """One thing that is scored."""

    about: str = Field(default="", description="What is looked at, in a sentence.")
    weight: float = Field(
        default=1.0, ge=0, allow_inf_nan=False, description="How much it counts; 0 is shown and does not count."
    )
    scores: ByScore = Field(default={}, description="What each score means.")
    examples: ByScore = Field(default={}, description="An example for some of the scores.")
    needs: str = Field(
        default="", description="Path to what a case must hold for this to be judged, such as input.question."
    )


class FlagPart(_Part):
    """A yes or no that the judge says of a text."""

    about: str = Field(default="", description="What it says, in a sentence.")
    triggers: list[str] = Field(default=[], description="What sets it.")
    fails: bool = Field(default=True, description="Whether a flagged sample has not passed.")


class RubricPart(_Part):
    """What is judged and on which scale."""

    version: Label = Field(default="", description="The rubric's own version, for people.")
    scale: list[int] = Field(
        default=[1, 5], min_length=2, max_length=2, description="Lowest and highest score, whole numbers."
    )
    neutral: int | None = Field(
        default=None,
        description="Where a judge starts; above it evidence is asked for, below it is a finding. Default: the middle.",
    )
    calibration: list[str] = Field(default=[], description="Notes on how to use the scale.")
    dimensions: dict[str, DimensionPart] = Field(min_length=1, description="What is scored, by name.")
    flags: dict[str, FlagPart] = Field(default={}, description="What is said yes or no to, by name.")


class TextFilePart(_Part):
    """A text kept in a file of the suite's folder."""

    file: str = Field(min_length=1, description="Path of the file, inside the suite's folder.")


class ReasonsPart(_Part):
    """Reasons that the judge gives before its scores."""

    in_: str = Field(alias="in", min_length=1, description="The field of its answer that lists them.")
    at_least: int = Field(default=0, ge=0, le=100, description="How many are asked for.")


class EvidencePart(_Part):
    """Quotes that the judge owes for scores above the neutral one; they are looked up in the text."""

    in_: str = Field(alias="in", min_length=1, description="The field of its answer that holds them.")
    unproven: Literal["neutral", "report"] = Field(
        default="neutral", description="What becomes of a score without a quote: bound to neutral, or only reported."
    )
    fewest_words: int = Field(default=2, ge=1, le=100, description="A shorter quote proves nothing.")
    dimensions: list[str] | None = Field(default=None, description="Those that must be proven; left out, all.")


class FigurePart(_Part):
    """A figure made of what the judge says beyond its scores; it is shown, compared and gated, and weighs nothing."""

    mean: str = Field(
        default="",
        description="Path into its answer to a number, for its mean over the texts; a step * is every key there.",
    )
    count: str = Field(default="", description="Path to the words of a list, faults[].reason: how often each is said.")
    keys: list[Label] = Field(
        default=[],
        description="What * stands for, or the words that are counted; left out, as the response lists them.",
    )
    scale: list[float] | None = Field(
        default=None, min_length=2, max_length=2, description="Lowest and highest number; left out, the rubric's."
    )
    about: str = Field(default="", description="What it says, in a few words.")


class JudgePart(_Part):
    """How answers are judged with a rubric, and by whom."""

    rubric: str | dict[str, Anything] = Field(description="What is judged: a file, or written here.")
    system: str | TextFilePart = Field(default="", description="Template of the system message, or {file: PATH}.")
    user: str | TextFilePart = Field(default="", description="Template of the user message, or {file: PATH}.")
    response: str | dict[str, Anything] | None = Field(
        default=None,
        description="JSON Schema of the judge's answer: a file, or written here; left out, made from the rubric.",
    )
    scores_in: str = Field(
        default="", description="The field of the judge's answer that holds scores and flags; left out, its top."
    )
    shown: str | TextFilePart = Field(
        default="",
        description="Template of how what is judged is shown to a model, which speaks of `part`; or {file: PATH}.",
    )
    reasons: ReasonsPart | None = Field(default=None, description="Which reasons it gives before its scores.")
    evidence: EvidencePart | None = Field(default=None, description="Which quotes it owes.")
    bind: list[str] = Field(
        default=[], description="Rules that are applied in code: when a.coverage < 90 % then tone <= 3."
    )
    check: Annotated[Any, WithJsonSchema(PLACE_SCHEMA)] = Field(
        default=None,
        description="A function of your own, module:function, that holds the judge's complaints against the answer.",
    )
    secrets: list[str] = Field(
        default=[],
        description="Names of environment variables that judges in code read and whose values must never reach store,"
        " log or report; those whose name looks like a secret's need not be named.",
    )
    figures: dict[str, FigurePart] = Field(
        default={}, description="What else of its answer is made into figures, by name: means and counts."
    )
    by: str | list[str] | None = Field(default=None, description="Who judges: a name of `judges`, or several.")
    judges: dict[str, Anything] = Field(min_length=1, description="All who can judge, by name.")
    of: str = Field(default="", description="Path into a JSON answer to what is judged; left out, the whole answer.")
    repeats: int = Field(default=1, ge=1, le=100, description="How often each of them judges a text.")
    combine: Literal["median", "majority"] = Field(default="median", description="What several scores come to.")
    flags: Literal["majority", "any"] = Field(default="majority", description="When the flags of several are set.")
    disagreement: float = Field(
        default=2.0, gt=0, allow_inf_nan=False, description="Scores of one text this far apart are remarked on."
    )
    most_characters: int = Field(
        default=24_000, ge=200, description="A longer text is shown by head and tail, and marked so."
    )
    ask_again: int = Field(
        default=1, ge=0, le=10, description="How often a judge whose answer cannot be used is told why and asked again."
    )
    allow_self: bool = Field(default=False, description="Whether the system under test may be its own judge.")
    labels: str = Field(
        default="", description="Path into the case to what a careful reviewer would say; no judge sees it."
    )
    health: list[str] = Field(
        default=[], description="What `judge check` asks of the judge: agreement.tone.kappa >= 0.6."
    )

"""A small rubric and judge for tests of judging."""

from steelyard.suite.judge import BindingRule, Dimension, Evidence, Flag, JudgeModel, Member, Reasons, Rubric

RUBRIC = Rubric(
    dimensions=(
        Dimension(
            name="tone",
            about="How it speaks.",
            scores={5: "Warm throughout.", 1: "Cold."},
            examples={3: "A bit of both."},
        ),
        Dimension(
            name="plot_sense", about="Whether the story holds together.", scores={5: "All of it.", 1: "None of it."}
        ),
    ),
    flags=(
        Flag(
            name="harm_flag",
            about="Whether it can hurt.",
            triggers=("It threatens somebody.", "It gives medical advice."),
        ),
    ),
    calibration=("A 5 is rare.",),
    version="1.0",
)
RESPONSE = {
    "type": "object",
    "required": ["weaknesses", "tone", "plot_sense", "harm_flag", "notes"],
    "properties": {
        "weaknesses": {"type": "array", "items": {"type": "string"}},
        "tone": {"type": "integer", "minimum": 1, "maximum": 5},
        "plot_sense": {"type": "integer", "minimum": 1, "maximum": 5},
        "harm_flag": {"type": "boolean"},
        "notes": {"type": "string"},
    },
}
LOST = BindingRule(
    "when parts.lost > 0 then plot_sense <= 2 and harm_flag",
    lambda metrics: metrics["parts"]["lost"] > 0,
    {"plot_sense": 2.0},
    ("harm_flag",),
)
FEW = BindingRule(
    "when parts.share < 90 % then plot_sense <= 4", lambda metrics: metrics["parts"]["share"] < 0.9, {"plot_sense": 4.0}
)
FINE = {"parts": {"lost": 0, "share": 1.0}}


def judge(**changes):
    """A judge with two dimensions from 1 to 5 and a flag; `changes` replace any part of it."""
    parts = {
        "rubric": RUBRIC,
        "members": (Member(name="model", kind="chat"),),
        "response": RESPONSE,
        "reasons": Reasons(place="weaknesses", at_least=2),
        "rules": (FEW, LOST),
        "evidence": Evidence(place="notes", unproven="neutral", fewest_words=2, dimensions=("tone", "plot_sense")),
    }
    return JudgeModel(**parts).model_copy(update=changes)


def answer(tone=3, plot_sense=3, harm_flag=False, notes="", weaknesses=("too long", "too plain"), **more):
    """The fields of an answer that fits."""
    return {
        "weaknesses": list(weaknesses),
        "tone": tone,
        "plot_sense": plot_sense,
        "harm_flag": harm_flag,
        "notes": notes,
        **more,
    }

"""An A/B as sentences and tables of plain text, before a view escapes and lays them out."""

from __future__ import annotations

from steelyard.analysis.resampling import SEED
from steelyard.release.ab_model import AbReport, Decided, Effect
from steelyard.report import figures
from steelyard.report.safe_text import one_line
from steelyard.report.tables import Column, Kind, Table

_LONGEST_NAME = 60
_FINE, _NOT_FINE, _BROKEN = "ok", "look", "BROKEN"


def word(report: AbReport) -> str:
    """The decision as a badge says it."""
    if report.decided in (Decided.A, Decided.B):
        return f"{_named(report, report.decided is Decided.B)} is better"
    return report.decided.value


def answer(report: AbReport) -> str:
    """The decision in one sentence, with the figure that it stands on."""
    effect, decided = report.quality, report.decided
    if report.why:
        return report.why[0]
    if effect.difference is None:
        return f"cannot tell: there is no {effect.name} of both arms"
    told = f"{effect.name} {in_unit(effect.a, effect)} -> {in_unit(effect.b, effect)}, {change(effect)}"
    if decided in (Decided.A, Decided.B):
        return f"{word(report)}: {told}"
    if decided is Decided.SAME:
        return f"the same for all that matters: {told}"
    return f"cannot tell: {told}"


def change(effect: Effect) -> str:
    """The difference with its interval and what it stands on."""
    if effect.difference is None:
        return figures.NOT_AVAILABLE
    moved = figures.difference(effect.difference, effect.unit)
    ends = f"({interval(effect)})" if effect.low is not None else "(interval undefined)"
    return f"{moved} {ends}, n = {effect.n:,}"


def interval(effect: Effect) -> str:
    """The ends of the interval of the difference."""
    if effect.low is None or effect.high is None:
        return "undefined"
    bare = effect.unit == "share"
    low, high = (figures.difference(end, effect.unit, bare=bare) for end in (effect.low, effect.high))
    return f"{low} to {high}"


def in_unit(value: float | None, effect: Effect) -> str:
    """A figure of one arm."""
    return figures.in_unit(value, effect.unit)


def effects(report: AbReport) -> Table:
    """Quality first, then cost and latency, with their intervals."""
    rows = [
        (
            effect.name,
            in_unit(effect.a, effect),
            in_unit(effect.b, effect),
            figures.NOT_AVAILABLE
            if effect.difference is None
            else figures.difference(effect.difference, effect.unit, bare=effect.unit == "share"),
            interval(effect),
            f"{effect.n:,}",
            f"{effect.n_missing:,}",
        )
        for effect in (report.quality, *report.beside)
    ]
    a, b = (arm.name for arm in report.arms)
    heads = ("Figure", a, b, "Difference", "95 % interval", "n", "Missing")
    what = "cases that both arms have a reading of" if report.kind == "offline" else "units"
    note = f"n are {what}; the first figure decides"
    return Table("Figures", _columns(heads), rows, note, signature=_signature(report))


def _signature(report: AbReport) -> str:
    """How the intervals were made; of all that can make one, only a test that was fixed before draws."""
    ways = list(dict.fromkeys(effect.method for effect in (report.quality, *report.beside) if effect.method))
    drawn = any(way.startswith("fixed") for way in ways)
    return f"95 %: {'; '.join(ways)} | {f'seed {SEED}' if drawn else 'nothing drawn'}" if ways else ""


def checks(report: AbReport) -> Table:
    """Everything that must be so, and whether it is."""
    rows = [
        (check.name, _BROKEN if check.invalidates else _FINE if check.fine else _NOT_FINE, check.told)
        for check in report.checks
    ]
    columns = (Column("Check", Kind.TEXT), Column(""), Column("Found", Kind.TEXT))
    return Table("Checks", columns, rows)


def arm_facts(report: AbReport) -> list[tuple[str, str]]:
    """What each arm is."""
    return [
        (_label(arm.letter, arm.name), ", ".join(f"{key} {value}" for key, value in arm.facts)) for arm in report.arms
    ]


def remarks(report: AbReport) -> list[str]:
    """What else the reader must know, the reasons of an answer that is none first."""
    return [*report.why[1:], *report.notes]


def _named(report: AbReport, second: bool) -> str:
    arm = report.arms[second]
    return _label(arm.letter, arm.name)


def _label(letter: str, name: str) -> str:
    return letter if name == letter else f"{letter} ({one_line(name, _LONGEST_NAME)})"


def _columns(heads: tuple[str, ...]) -> tuple[Column, ...]:
    return (Column(heads[0], Kind.TEXT), *(Column(head) for head in heads[1:]))

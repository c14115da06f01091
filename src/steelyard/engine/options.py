"""How a run is to be done, as one frozen object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from steelyard.errors import UserMistake
from steelyard.suite.case import Case
from steelyard.suite.models import Limits
from steelyard.suite.values import OPEN_CONCURRENCY

_LIMITS = (
    *("concurrency", "timeout", "retries", "requests_per_second"),
    *("max_cost", "max_inconclusive", "warm_up", "rate", "outage", "anchors"),
)
FACTORS = ("category", "difficulty", "tag", "id", "variant")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of the grid to weigh: `only` holds (factor, value) pairs; values of one factor are alternatives."""

    only: tuple[tuple[str, str], ...] = ()
    limit: int | None = None

    def takes_case(self, case: Case) -> bool:
        """True when every factor that is asked for is met by the case."""
        have: dict[str, set[str | None]] = {
            "category": {case.category},
            "difficulty": {case.difficulty},
            "tag": {*case.tags},
            "id": {case.id},
        }
        return all(have[factor] & wanted for factor, wanted in _wanted(self.only).items() if factor != "variant")

    def of(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Those of the cases that are asked for, in their order."""
        return islice((case for case in cases if self.takes_case(case)) if self.only else iter(cases), self.limit)

    def takes_variant(self, name: str) -> bool:
        """True when the variant is asked for, or none in particular is."""
        wanted = _wanted(self.only).get("variant")
        return wanted is None or name in wanted


@lru_cache(maxsize=8)
def _wanted(only: tuple[tuple[str, str], ...]) -> dict[str, set[str | None]]:
    wanted: dict[str, set[str | None]] = {}
    for factor, value in only:
        wanted.setdefault(factor, set()).add(value)
    return wanted


def parse_only(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """`category=furniture` and the like as pairs; UserMistake when it is not of that form."""
    pairs = []
    for text in texts:
        factor, sign, value = text.partition("=")
        if not sign or factor not in FACTORS or not value:
            raise UserMistake(f"--only {text!r}: write one of {', '.join(f'{name}=VALUE' for name in FACTORS)}")
        pairs.append((factor, value))
    return tuple(pairs)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything that can differ between two runs of one suite; None means as the suite declares."""

    selection: Selection = Selection()
    repeats: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    retries: int | None = None
    requests_per_second: float | None = None
    max_cost: float | None = None
    max_inconclusive: float | None = None
    warm_up: int | None = None
    rate: float | None = None
    """Calls a second that fall due whatever came back: an open load."""
    outage: float | None = None
    """Seconds that a system which does not answer any more is waited for; 0: not at all."""
    anchors: int | None = None
    """Answers of a baseline that a judge which is a model reads again."""
    cache: bool = False
    strict: bool = False
    resume: str | None = None
    """A run to go on with; "" is the newest unfinished one of the suite."""
    retry_failed: str | None = None
    """A run whose failed samples are asked for again, in a new run that takes over the others."""
    answers_of: str | None = None
    """The id of a run whose answers are judged anew; the system under test is not asked."""
    experiment: Mapping[str, Any] | None = None
    """The plan that this run is an arm of, stored before its first call."""

    def limits(self, declared: Limits) -> Limits:
        """The suite's limits with what was asked for laid over them; UserMistake when that is two loads at once."""
        asked = {name: getattr(self, name) for name in _LIMITS if getattr(self, name) is not None}
        if self.rate is not None and self.requests_per_second is not None:
            raise UserMistake(
                "--rate makes an open load, and --rps is the most of a closed one: give one of them"
                " (docs/reference/commands.md#open-and-closed-load)"
            )
        # The load that was asked for takes the place of the suite's.
        if self.rate is not None:
            asked["requests_per_second"] = None
            if self.concurrency is None and declared.rate is None:
                asked["concurrency"] = OPEN_CONCURRENCY
        elif self.requests_per_second is not None and declared.rate is not None:
            asked["rate"] = None
            asked.setdefault("concurrency", Limits().concurrency)
        return declared.model_copy(update=asked)

    def as_data(self) -> dict[str, Any]:
        """What is stored with the run and taken up again by `--resume`."""
        return {
            "only": [f"{factor}={value}" for factor, value in self.selection.only],
            "limit": self.selection.limit,
            "repeats": self.repeats,
            "strict": self.strict,
            "cache": self.cache,
            "answers_of": self.answers_of,
        } | ({} if self.experiment is None else {"experiment": dict(self.experiment)})


def load_of(limits: Limits) -> dict[str, Any]:
    """How the calls of a run are made, as it is stored with the run."""
    load: dict[str, Any] = {"rate": limits.rate} if limits.rate is not None else {}
    if limits.requests_per_second is not None:
        load["requests_per_second"] = limits.requests_per_second
    return load | {"concurrency": limits.concurrency, "warm_up": limits.warm_up}

"""How a run is to be done: which part of a suite, and every option of it, as one frozen object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from heapq import heappush, heappushpop
from itertools import islice
from typing import Annotated, Any

from pydantic import Field, ValidationError, create_model

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.records import DrawnSample, ExperimentPlan, Load, RunFacts
from steelyard.suite.case import Case, canonical, drawn_place
from steelyard.suite.models import Limits
from steelyard.suite.paths import MISSING, compile_path
from steelyard.suite.slices import slice_names
from steelyard.suite.values import OPEN_CONCURRENCY, SuitePart, slice_path_problem
from steelyard.suite.yaml import explain, unknown_key

_LIMITS = (
    *("concurrency", "timeout", "retries", "requests_per_second"),
    *("max_cost", "max_inconclusive", "warm_up", "rate", "outage", "anchors"),
)
FACTORS = ("category", "difficulty", "tag", "id", "variant")
_NO_STRATUM = "(none)"


@frozen
class Selection:
    """Which part of the grid to score: `only` holds (factor, value) pairs; values of one factor are alternatives."""

    only: tuple[tuple[str, str], ...] = ()
    limit: int | None = None
    sample: DrawnSample | None = None
    """Of what `only` leaves; `limit` then takes the first of the sample."""

    def takes_case(self, case: Case) -> bool:
        """True when every factor that is asked for is met by the case."""
        have: dict[str, set[str | None]] = {
            "category": {case.category},
            "difficulty": {case.difficulty},
            "tag": {*case.tags},
            "id": {case.id},
        }
        return all(
            (have[factor] if factor in have else {*slice_names(case, factor)}) & wanted
            for factor, wanted in _wanted(self.only).items()
            if factor != "variant"
        )

    def of(self, cases: Iterable[Case], drawn: Collection[str] | None = None) -> Iterator[Case]:
        """Those of the cases that are asked for, in their order; `drawn` is what `drawn_from` gave for them."""
        if (ids := self.drawn_from(cases) if drawn is None else drawn) is not None:
            return islice((case for case in cases if case.id in ids), self.limit)
        return islice((case for case in cases if self.takes_case(case)) if self.only else iter(cases), self.limit)

    def drawn_from(self, cases: Iterable[Case]) -> frozenset[str] | None:
        """The ids of the sample; None when none is asked for, UsageError when it cannot be drawn."""
        if self.sample is None:
            return None
        return draw(self.sample, (case for case in cases if self.takes_case(case)))

    def takes_variant(self, name: str) -> bool:
        """True when the variant is asked for, or none in particular is."""
        wanted = _wanted(self.only).get("variant")
        return wanted is None or name in wanted


def draw(sample: DrawnSample, cases: Iterable[Case]) -> frozenset[str]:
    """The ids of a stratified sample: proportional, by the largest remainders, and of every stratum at least one."""
    stratum_of = _stratum(sample.by)
    sizes: Counter[str] = Counter()
    # Of each stratum, the ids that a hash puts first: no order of files and no other case has a say in it.
    first: dict[str, list[tuple[int, str]]] = {}
    for case in cases:
        name = stratum_of(case)
        sizes[name] += 1
        entry, heap = (-drawn_place(sample.seed, case.id), case.id), first.setdefault(name, [])
        (heappush if len(heap) < sample.n else heappushpop)(heap, entry)
    if sample.by and set(sizes) == {_NO_STRATUM}:
        raise UsageError(f"--by {sample.by}: no case has anything there")
    shares = _shares(sample, sizes)
    return frozenset(case_id for name, heap in first.items() for _, case_id in sorted(heap)[-shares[name] :])


def _stratum(by: str) -> Callable[[Case], str]:
    if by == "tag":
        return lambda case: ", ".join(sorted(case.tags)) or _NO_STRATUM
    try:
        get = compile_path(by) if by else lambda _: _NO_STRATUM
    except ValueError as error:
        raise UsageError(f"--by: {error}") from None

    def name(case: Case) -> str:
        value = get(case)
        if value is MISSING or value is None:
            return _NO_STRATUM
        return value if isinstance(value, str) else canonical(value).decode()

    return name


def _shares(sample: DrawnSample, sizes: Mapping[str, int]) -> dict[str, int]:
    """How many cases of each stratum; UsageError when there are more strata than cases."""
    total = sum(sizes.values())
    n = min(sample.n, total)
    if n < len(sizes):
        raise UsageError(
            f"--sample {sample.n}: by {sample.by} there are {len(sizes):,} strata, and each gives at least one case:"
            f" ask for {len(sizes):,} or more"
        )
    quotas = {name: n * size / total for name, size in sizes.items()}
    shares = {name: max(1, int(quota)) for name, quota in quotas.items()}

    def surplus(name: str) -> tuple[float, str]:
        return shares[name] - quotas[name], name

    # What is farthest above its share gives, what is farthest below it takes.
    while (left := n - sum(shares.values())) < 0:
        shares[max((name for name in shares if shares[name] > 1), key=surplus)] -= 1
    for name in sorted(shares, key=surplus)[:left]:
        shares[name] += 1
    return shares


@lru_cache(maxsize=8)
def _wanted(only: tuple[tuple[str, str], ...]) -> dict[str, set[str | None]]:
    wanted: dict[str, set[str | None]] = {}
    for factor, value in only:
        wanted.setdefault(factor, set()).add(value)
    return wanted


def parse_only(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """`category=furniture`, `input.language=de` and the like as pairs; UsageError when it is not of that form."""
    pairs = []
    for text in texts:
        factor, sign, value = text.partition("=")
        if not sign or not value or (factor not in FACTORS and slice_path_problem(factor)):
            forms = ", ".join(f"{name}=VALUE" for name in FACTORS)
            raise UsageError(f"--only {text!r}: write one of {forms}, or a field of the cases: input.language=VALUE")
        pairs.append((factor, value))
    return tuple(pairs)


@frozen
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
    workers: int | None = None
    """With `on`, how many workers there are; else processes that score recorded answers. None: as many as pay."""
    cache: bool = False
    strict: bool = False
    resume: str | None = None
    """A run to go on with; "" is the newest unfinished one of the suite."""
    retry_failed: str | None = None
    """A run whose failed samples are asked for again, in a new run that takes over the others."""
    answers_of: str | None = None
    """The id of a run whose answers are judged again; the system under test is not asked."""
    experiment: ExperimentPlan | None = None
    """The plan that this run is an arm of, stored before its first call."""
    keep_going: bool = False
    """Make all calls, also when the first fail so that asking again cannot help."""
    cures: Mapping[str, str] = field(default_factory=dict)
    """By kind of failure (http_401), what a person is to do about it, where the caller knows better."""
    on: str | None = None
    """Where workers make the calls and score: `ray`, `auto` or `ray://HOST:PORT`; None: in this process."""

    def limits(self, declared: Limits) -> Limits:
        """The suite's limits with what was asked for laid over them; UsageError when that is two loads at once."""
        asked = {name: getattr(self, name) for name in _LIMITS if getattr(self, name) is not None}
        if self.rate is not None and self.requests_per_second is not None:
            raise UsageError(
                "--rate makes an open load, and --rps limits a closed one: give one of them"
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

    def facts(self) -> RunFacts:
        """What is stored with the run and taken up again by `--resume`."""
        return RunFacts(
            only=tuple(f"{factor}={value}" for factor, value in self.selection.only),
            limit=self.selection.limit,
            sample=self.selection.sample,
            repeats=self.repeats,
            strict=self.strict,
            cache=self.cache,
            answers_of=self.answers_of,
            experiment=self.experiment,
        )


def run_options(function: str, values: Mapping[str, Any]) -> RunOptions:
    """The options that a Python caller gave to a function of this name; UsageError with the first that is wrong."""
    others: dict[str, Any] = {
        "selection": Selection,
        "experiment": ExperimentPlan,
        **dict.fromkeys(("repeats", "workers"), Annotated[int, Field(ge=1)]),
        **dict.fromkeys(("resume", "retry_failed", "answers_of", "on"), str),
        **dict.fromkeys(("cache", "strict", "keep_going"), bool),
        "cures": dict[str, str],
    }
    limits = {name: Annotated[(item.annotation, name, *item.metadata)] for name, item in Limits.model_fields.items()}
    kinds = others | {name: limits[name] for name in _LIMITS}
    for name in values.keys() - kinds.keys():
        raise UsageError(f"{function}: {unknown_key(name, list(kinds))}")
    given = {name: value for name, value in values.items() if value is not None}
    fields: Any = {name: (kinds[name], ...) for name in given}
    model: type[SuitePart] = create_model("Options", __base__=SuitePart, **fields)
    try:
        checked = model.model_validate(given)
    except ValidationError as error:
        raise UsageError(f"{function}: {explain(error, given, model)[0].message}") from None
    return RunOptions(**{name: getattr(checked, name) for name in given})


def load_of(limits: Limits) -> Load:
    """How the calls of a run are made, as it is stored with the run."""
    return Load(limits.concurrency, limits.rate, limits.requests_per_second, limits.warm_up)

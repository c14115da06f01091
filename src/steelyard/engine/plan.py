"""Options of a run, also of one that is resumed, and which samples it asks for."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from heapq import heappush, heappushpop
from itertools import islice, product, zip_longest
from typing import Annotated, Any

from pydantic import Field, ValidationError, create_model

from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.records import DrawnSample, ExperimentPlan, Load, RunFacts, RunHeader, RunState
from steelyard.store.base import Store
from steelyard.suite.case import MISSING, Case, canonical, compile_path, drawn_first, drawn_place
from steelyard.suite.models import Limits, SuiteModel, Variant
from steelyard.suite.slices import slice_names
from steelyard.suite.truth import in_no_case
from steelyard.suite.values import OPEN_CONCURRENCY, SuitePart, slice_path_problem
from steelyard.suite.yaml import explain, unknown_key
from steelyard.targets.base import Request

# How a run is to be done, as one frozen object.

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


# Going on with a run that has not ended: which one, as what, and only with the same signature.


def find_unfinished(store: Store, suite: SuiteModel, name: str) -> RunHeader:
    """The run to go on with: by name, or the suite's newest that has not ended."""
    if name:
        header = store.run(name)
        if header.state is RunState.ENDED:
            raise UsageError(f"run {header.id} has ended: there is nothing to resume")
        facts = header.options
        if facts.ab is not None:
            raise UsageError(
                f"run {header.id} is an arm of an A/B: steelyard ab ... --resume {facts.ab.id} resumes both"
            )
        if header.rescored_from is not None:
            raise UsageError(
                f"run {header.id} is an unfinished rescore, and a rescore makes no calls:"
                f" steelyard rescore {header.rescored_from} starts it again"
            )
        for later in store.runs(header.suite_name):
            if later.options.resumed_from == header.id:
                rest = "that run has ended" if later.state is RunState.ENDED else f"--resume {later.id} continues it"
                raise UsageError(f"run {header.id} was resumed as {later.id}, with changed scorers: {rest}")
        return header
    runs = store.runs(suite.name)
    taken_over = {header.options.resumed_from for header in runs}
    for header in runs:
        alone = header.options.ab is None and header.rescored_from is None and header.id not in taken_over
        if alone and header.state is not RunState.ENDED and header.options.imported is None:
            return header
    raise UsageError(f"no unfinished run of suite {suite.name}: start one without --resume")


def refuse_unfinished_rescore(earlier: RunHeader) -> None:
    """UsageError when these are the answers of a rescore that was killed midway: the run it read has them all."""
    if earlier.rescored_from is not None and earlier.state is not RunState.ENDED:
        raise UsageError(
            f"run {earlier.id} is an unfinished rescore and holds only some of the answers:"
            f" name the run that it read, {earlier.rescored_from}"
        )


def selection_of(started: RunHeader) -> Selection:
    """The part of the grid that a run was asked to score."""
    return Selection(parse_only(started.options.only), started.options.limit, started.options.sample)


def resumed_options(options: RunOptions, started: RunHeader) -> RunOptions:
    """A resumed run keeps the part of the grid and the load it was started with."""
    then, load = started.options, started.options.load
    for name, given, before in (
        ("--only, --sample and --limit", options.selection, selection_of(started)),
        ("--repeats", options.repeats, then.repeats),
        ("--strict", options.strict, then.strict),
    ):
        if given not in (None, False, Selection(), before):
            raise UsageError(f"{name}: that of run {started.id} applies and differs; leave it out")
    return replace(
        options,
        selection=selection_of(started),
        repeats=then.repeats,
        strict=then.strict,
        cache=then.cache or options.cache,
        rate=None if load is None else load.rate,
        requests_per_second=options.requests_per_second or (None if load is None else load.requests_per_second),
        answers_of=options.answers_of or then.answers_of,
    )


SCORING = frozenset({"scorers", "rules", "slices"})
"""The parts of a signature that change what is made of an answer, and nothing of what is asked."""


def changed_parts(started: RunHeader, now: RunHeader) -> list[str]:
    """The parts of the signature that have changed since the run began."""
    # A run that began before there were judges knows nothing of them: "" stands for none.
    then, today = started.signature, now.signature
    parts = [part for part in today.to_data() | then.to_data() if part != "text"]
    return [part for part in parts if (then.part(part) or "") != (today.part(part) or "")]


def require_same_signature(started: RunHeader, now: RunHeader, done: str = "resumed") -> None:
    """UsageError that names what has changed since the run began."""
    changed = changed_parts(started, now)
    if changed:
        raise UsageError(
            f"run {started.id} cannot be {done}: these have changed since it started: {', '.join(changed)}."
            f" Samples from two signatures do not belong in one run: {_same_again(changed)}start a new one"
        )


def _same_again(changed: list[str]) -> str:
    """What was said on the command line then and may have been left out now."""
    options = {"target": "--target, --model, --set or --answers", "judge": "--judge options"}
    left_out = [options[part] for part in changed if part in options]
    return f"give the same {' and '.join(left_out)} as then, or " if left_out else ""


def load_after_resume(started: Load | None, limits: Limits) -> Load:
    """The load that the run began with, and that it changed on the way where it did."""
    now = load_of(limits)
    if started is None:
        return now
    return started if started.pace == now.pace else replace(started, changed=True)


_CHUNK = 500
_NOTHING: set[tuple[str, str, int]] = set()
Done = Callable[[Sequence[str]], set[tuple[str, str, int]]]


@frozen
class Planned:
    """One call with its place in the plan, and the whole case to score its answer against."""

    position: int
    case: Case
    ask: Request


class Plan:
    """What a run will ask, in a fixed order: all repeats of a variant, all variants of a case, case by case."""

    def __init__(self, suite: SuiteModel, selection: Selection, repeats: int) -> None:
        self._suite = suite
        self.folder = suite.folder
        self._selection = selection
        self.repeats = repeats
        self.variants: tuple[Variant, ...] = tuple(v for v in suite.variants if selection.takes_variant(v.name))
        self._drawn = selection.drawn_from(suite.cases)
        self.n_cases = self._count_cases()
        self.n = self.n_cases * len(self.variants) * repeats
        if self.n == 0:
            raise UsageError(self._why_empty())

    def cases(self) -> Iterator[Case]:
        """The cases of the plan, in file order."""
        return self._selection.of(self._suite.cases, self._drawn)

    def asks(self, done: Done | None = None) -> Iterator[Planned]:
        """Every call that is not done yet; `done` is asked for a chunk of cases at a time."""
        first = 0
        for case, skip in self._with_done(done):
            blind = case.without_truth()
            for number, (variant, repeat) in enumerate(product(self.variants, range(self.repeats))):
                if (case.id, variant.name, repeat) not in skip:
                    yield Planned(first + number, case, Request(blind, variant, repeat, case.expected, case.private))
            first += len(self.variants) * self.repeats

    def _with_done(self, done: Done | None) -> Iterator[tuple[Case, set[tuple[str, str, int]]]]:
        """The cases, each with what is done of them; one by one when nothing is, so that no call waits for a chunk."""
        cases = self.cases()
        if done is None:
            yield from ((case, _NOTHING) for case in cases)
            return
        while chunk := list(islice(cases, _CHUNK)):
            skip = done([case.id for case in chunk])
            yield from ((case, skip) for case in chunk)

    def _count_cases(self) -> int:
        if not self._selection.only or self._drawn is not None:
            n = self._suite.survey.n if self._drawn is None else len(self._drawn)
            return n if self._selection.limit is None else min(n, self._selection.limit)
        return sum(1 for _ in self.cases())

    def _why_empty(self) -> str:
        if not self._suite.survey.n and (pending := self._suite.survey.n_pending):
            cases, are = ("1 case", "is") if pending == 1 else (f"{pending:,} cases", "are")
            return f"all {cases} of {self._suite.name} {are} pending: --pending asks for them, and nothing is scored"
        asked = ", ".join(f"{factor}={value}" for factor, value in self._selection.only)
        survey = self._suite.survey
        available = [
            f"{factor}: {', '.join(list(names)[:12])}"
            for factor, names in (
                *survey.slices.items(),
                ("variant", [v.name for v in self._suite.variants if v.name]),
            )
            if names
        ]
        fields = (in_no_case(factor, self._suite.cases) for factor, _ in self._selection.only if factor not in FACTORS)
        available += filter(None, fields)
        return f"nothing to score: no case of suite {self._suite.name} fits --only {asked}\n" + "\n".join(available)


# The calls of two arms on the same cases, interleaved: cases in random order, both arms of a call side by side.

Key = tuple[str, str, int]
_AT_ONCE = 20_000
"""Cases held in memory: of more, the files are read once for each piece of the order."""
_CASES_AT_ONCE = 500


@frozen
class Turn:
    """A case whose turn it is: what is still to be asked of which arm (0 or 1), in that order."""

    case: Case
    asks: tuple[tuple[int, Planned], ...]
    started: bool
    """True when a sample of it is kept already."""


class DrawnPlan:
    """What an A/B asks. At most `max_cases` of the cases, chosen at random as their order is."""

    def __init__(self, arms: tuple[Plan, Plan], seed: int, max_cases: int | None = None) -> None:
        if arms[0].n_cases != arms[1].n_cases:
            raise UsageError("the arms of an A/B must be asked the same cases, and these are not")
        self._arms = arms
        self._seed = seed
        self.n_cases = arms[0].n_cases if max_cases is None else min(max_cases, arms[0].n_cases)
        self.n = tuple(self.n_cases * len(plan.variants) * plan.repeats for plan in arms)
        """Samples of each arm."""

    def turns(self, done: Sequence[Done | None] = (None, None)) -> Iterator[Turn]:
        """The cases in the order drawn, each with what is not done of it; cases that are done come, too."""
        for piece in self._pieces():
            for start in range(0, len(piece), _CASES_AT_ONCE):
                chunk = piece[start : start + _CASES_AT_ONCE]
                ids = [case.id for _, case in chunk]
                retained = [set() if item is None else item(ids) for item in done]
                yield from (self._turn(place, case, retained) for place, case in chunk)

    def _turn(self, place: int, case: Case, keys: Sequence[set[Key]]) -> Turn:
        blind = case.without_truth()
        grids = [list(product(plan.variants, range(plan.repeats))) for plan in self._arms]
        asks: list[tuple[int, Planned]] = []
        started = False
        for number, pair in enumerate(zip_longest(*grids)):
            first = drawn_first(self._seed, case.id, number)
            for arm in (first, 1 - first):
                if pair[arm] is None:
                    continue
                variant, repeat = pair[arm]
                if (case.id, variant.name, repeat) in keys[arm]:
                    started = True
                    continue
                position = place * len(grids[arm]) + number
                ask = Request(blind, variant, repeat, case.expected, case.private)
                asks.append((arm, Planned(position, case, ask)))
        return Turn(case, tuple(asks), started)

    def _pieces(self) -> Iterator[list[tuple[int, Case]]]:
        """Pieces of the drawn order: cases with their places in the files."""
        drawn = array("Q", (drawn_place(self._seed, case.unit) for case in self._arms[0].cases()))
        order = sorted(range(len(drawn)), key=lambda place: (drawn[place], place))[: self.n_cases]
        for start in range(0, len(order), _AT_ONCE):
            wanted = order[start : start + _AT_ONCE]
            result = self._read({place: rank for rank, place in enumerate(wanted)})
            yield [(place, result[place]) for place in wanted]

    def _read(self, wanted: Mapping[int, int]) -> dict[int, Case]:
        last = max(wanted)
        cases = enumerate(islice(self._arms[0].cases(), last + 1))
        return {place: case for place, case in cases if place in wanted}


def asks_until(turns: Iterator[Turn], begin: Callable[[Turn], bool]) -> Iterator[tuple[int, Planned]]:
    """The calls turn by turn; a case is begun when `begin` says so, and whatever is begun is brought to its end."""
    for turn in turns:
        if not begin(turn):
            return
        yield from turn.asks

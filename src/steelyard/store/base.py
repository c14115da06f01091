"""What a store can do, whichever database is behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from steelyard.errors import RunTaken
from steelyard.frozen import frozen, slotted
from steelyard.records import CallResult, Finding, Item, Judgement, Outcome, PastRun, RunHeader, Sample, TargetFacts
from steelyard.suite.case import Case, unit_name

if TYPE_CHECKING:
    import numpy as np

    from steelyard.store.alert_log import AlertRecord, Delivery
    from steelyard.store.baseline_log import BaselineEntry
    from steelyard.store.contents import Contents
    from steelyard.store.figures import Figure, StoredSummary
    from steelyard.store.ownership import Lease
    from steelyard.store.paging import Page
    from steelyard.store.people import PeopleTables
    from steelyard.store.selection import Selection

_Result = TypeVar("_Result")


@frozen
class SampleFinding:
    """A finding with the sample it was found in."""

    case_id: str
    variant: str
    repeat: int
    finding: Finding


@frozen
class JudgedSample:
    """A sample that a judge was asked about, without its answer and without the calls of the judge."""

    case_id: str
    variant: str
    repeat: int
    outcome: Outcome
    score: float | None
    passed: bool | None
    text_length: int | None
    """Characters of the answer; None when there is none."""
    judgement: Judgement
    cluster: str | None = None
    labelled: bool = True
    """Whether labels of the case, if it has any, were given for this text."""

    @property
    def unit(self) -> str:
        """The name of the unit of evidence: of its case's cluster or, when it has none, of the case."""
        return unit_name(self.case_id, self.cluster)


@slotted
class Spending:
    """What the calls of a judge took; each sum is over the calls that reported it, and is None where none did."""

    calls: int = 0
    tries: int = 0
    """How often all calls were tried, the first time included."""
    failed: int = 0
    cached: int = 0
    """Answers that came from the cache."""
    latency: float = 0.0
    """Seconds of the calls that did not fail."""
    tokens_in: int = 0
    tokens_out: int = 0
    n_tokens: int = 0
    """Calls that reported their tokens."""
    cost: float = 0.0
    n_cost: int = 0
    """Calls that reported their cost."""

    def add(self, call_result: CallResult) -> None:
        """Count one call."""
        self.calls += 1
        self.tries += call_result.tries
        if call_result.failure is None:
            self.latency += call_result.latency
        else:
            self.failed += 1
        self.cached += call_result.cached
        tokens_in, tokens_out, cost = call_result.tokens_in, call_result.tokens_out, call_result.cost
        self.tokens_in += tokens_in or 0
        self.tokens_out += tokens_out or 0
        self.n_tokens += tokens_in is not None or tokens_out is not None
        self.cost += cost or 0.0
        self.n_cost += cost is not None


@slotted
class ClaimColumns:
    """Every claim of a run's answers that came with a confidence, as columns, in the order of the plan.

    Nothing is judged here: the claims of inconclusive samples are among them, and confidences are as they came.
    """

    sample: np.ndarray
    """The position of its sample in `Columns`."""
    confidence: np.ndarray
    """NaN where none was stated, or one that is no number."""
    right: np.ndarray
    """Whether the claim is right."""
    stated: np.ndarray
    """False where the claim came without a confidence."""
    label: np.ndarray
    """Codes into `labels`."""
    labels: list[str]
    """What kinds of things were claimed; "" is none."""

    @property
    def n(self) -> int:
        """How many claims there are."""
        return len(self.confidence)


@slotted
class Checks:
    """Every check of a run's answers as columns, in the order of the plan, those of failed calls included."""

    sample: np.ndarray
    """The position of its sample in `Columns`."""
    name: np.ndarray
    """Codes into `names`."""
    names: list[str]
    state: np.ndarray
    """Codes into `states`."""
    states: list[str]
    """The values of `CheckState`, in the order of its members."""
    detail: np.ndarray
    """Codes into `details`."""
    details: list[str]
    """Each once."""
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    """NaN where there is none."""

    @property
    def n(self) -> int:
        """How many checks there are."""
        return len(self.name)


@slotted
class Columns:
    """A run's samples as columns, in the order they were planned; memory is bounded by numbers, not by answers.

    Text columns hold codes into their list of names (-1 is "none"); a score that does not exist is NaN. Columns are of
    the narrowest type that holds their values exactly: widen them before arithmetic.
    """

    n: int
    case: np.ndarray
    case_ids: Sequence[str]
    """Each once, in order: a smaller code is an earlier id."""
    variant: np.ndarray
    variants: list[str]
    repeat: np.ndarray
    outcome: np.ndarray
    """Codes into `outcomes`."""
    outcomes: list[str]
    score: np.ndarray
    passed: np.ndarray
    """1 passed, 0 not, -1 unknown."""
    band: np.ndarray
    bands: list[str]
    category: np.ndarray
    categories: list[str]
    difficulty: np.ndarray
    difficulties: list[str]
    tag_sample: np.ndarray
    """Positions of samples that carry the tag at the same index of `tag`."""
    tag: np.ndarray
    tags: list[str]
    components: dict[str, np.ndarray] = field(default_factory=dict)
    """Component name to values; NaN where not scored."""
    finding_sample: np.ndarray = field(default_factory=lambda: _empty())
    finding_code: np.ndarray = field(default_factory=lambda: _empty())
    finding_codes: list[str] = field(default_factory=list)
    finding_component: np.ndarray = field(default_factory=lambda: _empty())
    """Codes into `finding_components`."""
    finding_components: list[str] = field(default_factory=list)
    finding_gain: np.ndarray = field(default_factory=lambda: _empty())
    finding_section: np.ndarray = field(default_factory=lambda: _empty())
    """Codes into `finding_sections`."""
    finding_sections: list[str] = field(default_factory=list)
    """Named regions of texts; "" is of findings that are in none."""
    counts: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    """Component name to the name of a count to its values; NaN where nothing was counted."""
    latency: np.ndarray = field(default_factory=lambda: _empty())
    """Seconds; NaN where no answer came."""
    first_byte: np.ndarray = field(default_factory=lambda: _empty())
    """Seconds until the body began; NaN where the target cannot tell, or no answer came."""
    first_token: np.ndarray = field(default_factory=lambda: _empty())
    """Seconds until the first part of a streamed answer; NaN where it was not streamed, or no answer came."""
    queued: np.ndarray = field(default_factory=lambda: _empty())
    """Seconds that the call was sent late under an open load; NaN under a closed one."""
    cached: np.ndarray = field(default_factory=lambda: _empty())
    """True where the answer came from the cache."""
    made_at: np.ndarray = field(default_factory=lambda: _empty())
    """When the call was made that an answer from the cache comes from; NaN of all others, and where it is not known."""
    provider_cached: np.ndarray = field(default_factory=lambda: _empty())
    """True where the provider says that the answer came from its own cache."""
    copied: np.ndarray = field(default_factory=lambda: _empty())
    """True where the answer is that of an earlier repeat of its case and variant, by response id or from a cache."""
    error_answer: np.ndarray = field(default_factory=lambda: _empty())
    """True where the answer is an HTTP error that is no failure, because the case asks for it."""
    tries: np.ndarray = field(default_factory=lambda: _empty())
    """Attempts of the call; NaN is one, 0 none."""
    first_failure: np.ndarray = field(default_factory=lambda: _empty())
    """Codes into `first_failures`: how the first attempt failed; -1 where it did not."""
    first_failures: list[str] = field(default_factory=list)
    tokens_in: np.ndarray = field(default_factory=lambda: _empty())
    tokens_out: np.ndarray = field(default_factory=lambda: _empty())
    cost: np.ndarray = field(default_factory=lambda: _empty())
    failure: np.ndarray = field(default_factory=lambda: _empty())
    failures: list[str] = field(default_factory=list)
    step: np.ndarray = field(default_factory=lambda: _empty())
    steps: list[str] = field(default_factory=list)
    mode: np.ndarray = field(default_factory=lambda: _empty())
    """Codes into `modes`: the kind of judge behind each score; `modes` is empty for a run without a judge."""
    modes: list[str] = field(default_factory=list)
    cluster: np.ndarray = field(default_factory=lambda: _empty())
    """Codes into `clusters`; -1 of a case that is in none."""
    clusters: list[str] = field(default_factory=list)

    def units(self) -> tuple[np.ndarray, Sequence[str]]:
        """For each sample its unit of evidence, and their names in order: the clusters of cases, and cases in none."""
        import numpy as np

        if not self.clusters:
            return self.case, self.case_ids
        codes = np.where(self.cluster < 0, len(self.clusters) + self.case.astype(int), self.cluster.astype(int))
        used, codes = np.unique(codes, return_inverse=True)
        names = [unit_name("", name) for name in self.clusters]
        results = [names[i] if i < len(names) else self.case_ids[i - len(names)] for i in used.tolist()]
        order = sorted(range(len(results)), key=results.__getitem__)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank[codes], [results[i] for i in order]


def _empty() -> np.ndarray:
    import numpy as np

    return np.empty(0)


class Store(Protocol):
    """One database of runs. Every method that writes is one transaction: all of it is kept, or none."""

    people: PeopleTables
    """The labels that people gave, and the queue of what they are to label."""

    def close(self) -> None: ...

    def notify(self, note: Callable[[str], None]) -> None:
        """Who is told, from now on, that a server does not answer and is waited for."""
        ...

    def one_view(self, read: Callable[[], _Result]) -> _Result:
        """What `read` gives when all that it reads is the store as it was at one moment, also of a run that goes on.

        It is called again when a server goes away in the middle of it.
        """
        ...

    def create_run(self, header: RunHeader) -> None:
        """Keep a new run. From then on its owner alone may write it (RunTaken for others), and gives signs of life."""
        ...

    def lease(self, run_id: str) -> Lease:
        """Who runs a run, and when that process gave its last sign of life."""
        ...

    def take_run(self, header: RunHeader, seen: Lease) -> None:
        """Replace the header, and with it the owner, of a run whose lease is still the one that was seen; RunTaken when
        another process was faster, or the owner has given a sign of life."""
        ...

    def is_confirmed(self, run_id: str) -> bool:
        """False when this process gave no sign of life for so long that another may have taken over the run."""
        ...

    def confirm(self, run_id: str) -> None:
        """RunTaken when another process has taken over the run."""
        ...

    def watched(self, run_id: str, lost: Callable[[RunTaken], None]) -> AbstractContextManager[None]:
        """`lost` is called, from another thread, when another process has taken over the run meanwhile."""
        ...

    def update_run(self, header: RunHeader, summary: StoredSummary | None = None) -> None:
        """Replace a run's header, and with it the summary, while it is running; refused once it has ended.

        Without an owner it is let go.
        """
        ...

    def keep_summary(self, run_id: str, summary: StoredSummary) -> None:
        """Replace the summary of a run, which its samples and labels give."""
        ...

    def summary(self, run_id: str) -> StoredSummary | None:
        """The summary that was stored when the run ended; None of a run that has none."""
        ...

    def figures(
        self, run_ids: Sequence[str], names: Collection[str] | None = None, factors: Collection[str] | None = ("",)
    ) -> dict[str, list[Figure]]:
        """The stored figures of those runs that have any: all or those of some names, of the whole run or of the
        slices by some factors (None: all)."""
        ...

    def summary_bases(self, run_ids: Sequence[str]) -> dict[str, str]:
        """The `basis` of the stored summary of those runs that have one."""
        ...

    def add_samples(
        self, run_id: str, samples: Sequence[Sample], cases: Sequence[Case], *, forget: Sequence[str] = ()
    ) -> None:
        """Keep completed samples, durable on return. A sample whose key is already there is refused.

        `cases` are the cases of these samples; each is stored once by its hash. `forget` are keys of the journal that
        these samples make needless.
        """
        ...

    def add_rescored(self, run_id: str, from_run: str, samples: Sequence[Sample], cases: Sequence[Case]) -> None:
        """Keep new evaluations of the attempts of an earlier run, without copying the attempts or the judge's calls."""
        ...

    def journal(self, run_id: str, entries: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Keep paid-for answers of samples that are not complete yet, in the place of older ones of the same key."""
        ...

    def journalled(self, run_id: str, keys: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
        """What the journal holds for a run: all of it, or what has one of these keys."""
        ...

    def forget_journal(self, run_id: str) -> None:
        """Drop the journal of a run that is about to end."""
        ...

    def done(self, run_id: str, case_ids: Sequence[str]) -> set[tuple[str, str, int]]:
        """Keys of the samples already kept for these cases."""
        ...

    def run(self, name: str) -> RunHeader:
        """A run by id, unique prefix of it, LAST, LAST~1, ..., or the name of a baseline; RunNotFound otherwise."""
        ...

    def runs(self, suite: str | None = None, limit: int | None = None) -> list[RunHeader]:
        """Newest first."""
        ...

    def samples(
        self, run_id: str, *, case_ids: Sequence[str] | None = None, answers: bool = True
    ) -> Iterator[tuple[Sample, Case]]:
        """All samples, or those of some cases, with their cases, in the order they were planned, streamed.

        Without `answers` the texts of all samples are None, and none of them is read.
        """
        ...

    def cases(self, run_id: str) -> Iterator[Case]:
        """Each case of a run once, in the order of their ids."""
        ...

    def samples_at(self, run_id: str, positions: Sequence[int]) -> list[tuple[Sample, Case]]:
        """The samples at some positions of the plan, in the order asked for."""
        ...

    def positions(self, run_id: str, n: int) -> np.ndarray:
        """The positions in the plan of a run's n samples, in the order of `columns`."""
        ...

    def failures(self, run_id: str) -> list[tuple[str, str, int]]:
        """Every kind and message of a failed call of the system under test, with how many samples have it, in the order
        of the plan."""
        ...

    def scorer_errors(self, run_id: str) -> list[tuple[str, int]]:
        """Every message of a scorer that broke, with how many samples have it, in the order of the plan."""
        ...

    def page(self, run_id: str, selection: Selection | None = None, **place: Any) -> Page:
        """Some samples of a selection. `place` is what `PageRequest` has beside it: the order (`plan`, `score`,
        `latency`, `case`), the cursor (`more` of a page, or the position of a sample), and how many."""
        ...

    def choices(self, run_id: str) -> dict[str, list[str]]:
        """By field of a selection, what the run's samples have there."""
        ...

    def columns(self, run_id: str) -> Columns: ...

    def claims(self, run_id: str) -> ClaimColumns:
        """What the run's answers claimed with a confidence; nothing, and nothing is read, where they claimed none."""
        ...

    def checks(self, run_id: str) -> Checks:
        """What became of the run's expectations; nothing, and nothing is read, where there are none."""
        ...

    def items(self, run_id: str) -> Iterator[tuple[int, tuple[Item, ...]]]:
        """What repeats are compared by, of every answer that could be read (also one with no items), streamed in the
        order of the plan with the position of its sample in `Columns`."""
        ...

    def contents(self, run_id: str) -> Contents:
        """Which cases the run's samples asked and what was taken for what in them, as digests beside `columns`."""
        ...

    def answer_digests(self, run_id: str) -> np.ndarray:
        """A 64-bit number for each sample's answer, in the order of `columns`; 0 where no answer is kept."""
        ...

    def answer_lengths(self, run_id: str) -> np.ndarray:
        """The number of characters of each sample's answer, in the order of `columns`; NaN where no answer is kept."""
        ...

    def judgements(self, run_id: str) -> Iterator[JudgedSample]:
        """Every judged sample, without the answers and the calls, in the order they were planned, streamed."""
        ...

    def judge_spending(self, run_id: str) -> Spending:
        """What the calls of a run's judges and of its scorers' models took, whichever run made them."""
        ...

    def findings(self, run_id: str, code: str, *, limit: int) -> list[SampleFinding]:
        """The first findings of one code, in the order of their samples; those of inconclusive samples left out."""
        ...

    def usual_latency(self, suite: str, target: TargetFacts, *, before: float) -> list[float]:
        """Median latencies, in seconds from when a call was sent, of the suite's earlier ended runs with the same
        target."""
        ...

    def log_baseline(self, entry: BaselineEntry) -> None:
        """Add a line to the log of baselines."""
        ...

    def baseline_log(self, suite: str | None = None) -> list[BaselineEntry]:
        """Every lock and removal of a baseline, oldest first."""
        ...

    def runs_of_target(self, target: TargetFacts) -> list[PastRun]:
        """Every run of a target, oldest first, then those that were deleted."""
        ...

    def deleted_runs(self, suite: str | None = None) -> list[PastRun]:
        """The runs that were deleted, of one suite or of all, in the order of their deletion."""
        ...

    def open_alert(self, suite: str, cause: str, run_id: str, content: dict[str, Any]) -> AlertRecord | None:
        """Keep that a run raised an alert; None when one is open for the same cause already."""
        ...

    def see_alerts(self, numbers: Sequence[int], run_id: str) -> None:
        """Note that a run found the causes of these open alerts to be there still."""
        ...

    def close_alert(self, number: int, run_id: str, ending: dict[str, Any]) -> bool:
        """Keep that the cause of an alert is gone; False when it was closed already."""
        ...

    def alerts(self, suite: str | None = None, *, closed: bool = False) -> list[AlertRecord]:
        """The open alerts, oldest first; with `closed` the others, too."""
        ...

    def unheard_endings(self, suite: str) -> list[AlertRecord]:
        """Closed alerts whose end did not reach a channel that was told of them; not those whose cause came again."""
        ...

    def log_deliveries(self, deliveries: Sequence[Delivery]) -> None:
        """Keep what became of notices, in the place of what was known of the same before."""
        ...

    def deliveries(self, alerts: Sequence[int]) -> list[Delivery]:
        """What became of every notice of these alerts."""
        ...

    def cached(self, key: str) -> dict[str, Any] | None: ...

    def cache(self, entries: Sequence[tuple[str, dict[str, Any]]]) -> None: ...

"""The nouns that every room speaks: of a sample what was asked, what came back and what it scored; of a run, beside its
samples, what was asked for and how it went.

Light frozen objects for the hot path; no behaviour beyond turning into plain data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from steelyard.errors import UsageError
from steelyard.frozen import frozen, slotted, values_of

if TYPE_CHECKING:
    from steelyard.suite.models import SuiteModel

BASELINE_SIGN = "@"
"""Begins the name of a baseline where a run is named, and in gates."""

Count = Annotated[int, range(2**53 + 1)]
"""A whole number from 0 up, as far as a column of floats holds each exactly."""
Whole = Annotated[int, range(2**63)]
"""A whole number from 0 up, as far as a database holds it."""
RawFloat = Annotated[float, "raw"]
"""A number as it came: NaN and infinities stay what they are."""

Box = tuple[float, float, float, float]
"""A place on a picture: left, top, right and bottom as fractions of its width and height."""

Span = tuple[Count, Count]
"""A piece of a text: its first character and the one after its last, counted in code points."""


class AtLeast(float):
    """A lower bound of a number: a call that timed out after 5 s took at least 5 s. Reports print it as `≥ 5.00 s`."""


class Outcome(StrEnum):
    """How one sample ended; a closed set."""

    SCORED = "scored"
    MALFORMED = "malformed"
    TARGET_FAILED = "target_failed"
    JUDGE_FAILED = "judge_failed"

    @property
    def conclusive(self) -> bool:
        """True when the sample says something about the system: a reading, not a broken scale."""
        return self in (Outcome.SCORED, Outcome.MALFORMED)


class Verdict(StrEnum):
    """What a run, or one gate of it, comes to."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    FAIL = "FAIL"
    AMBIGUOUS = "AMBIGUOUS"
    INVALID = "INVALID"


class Mode(StrEnum):
    """What kind of judge a reading comes from; readings of two modes are never put into one mean."""

    MODEL = "model"
    """A language model that gave all that was asked for."""
    BASIC = "basic"
    """A language model of whose answer only the scores could be read."""
    RULES = "rules"
    """Code that comes with the suite."""


class RunState(StrEnum):
    """Where a run stands in its life."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    ENDED = "ended"


# Not frozen: a frozen one takes four times as long to make, and answers with many errors have many of them.
@slotted
class Finding:
    """One typed error: exactly one code of the suite's taxonomy, where it is, what was expected and what came.

    A scorer states code, location, evidence and gain; the component and the suite's severity are filled in for it.
    """

    code: str
    place: str = ""
    expected: Any = None
    got: Any = None
    evidence: str = ""
    severity: str = "error"
    component: str = ""
    """The component that found it; "" for an answer that could not be read."""
    gain: float = 0.0
    """What the component, as a share of its scale, would rise by if this error alone were fixed."""
    box: Box | None = None
    """Where it is on the case's picture."""
    span: Span | None = None
    """Where it is in the case's text: first character and the one after the last, in code points."""
    section: str = ""
    """The named region of the text that it begins in."""


@frozen
class Claim:
    """One thing that an answer claimed, how sure it was of it (0 to 1), and whether it was right."""

    confidence: RawFloat | None
    """None when the claim came without one; outside 0 to 1 or NaN as it came, since nothing is clamped."""
    right: bool
    label: str = ""
    """What kind of thing it is, for tables by kind."""


class CheckState(StrEnum):
    """What became of one check of one answer; a check that could not run is neither passed nor failed, and counts."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not_run"


@frozen
class Check:
    """One named expectation of an answer and what became of it.

    A check that compares a figure with a range also keeps the figure and the ends of the range, for tables and charts.
    """

    name: str
    """As declared, and after a colon the value that was looked for when there are several: `colour:red`."""
    state: CheckState
    detail: str = ""
    """What was found against what was expected, or why it did not run, in a few words."""
    value: RawFloat | None = None
    low: RawFloat | None = None
    high: RawFloat | None = None


@frozen
class Item:
    """One thing in an answer that repeats of the same question should bring again: its key and its declared fields."""

    key: str
    values: tuple[Any, ...] = ()
    """One for each field that the suite declares, in that order; plain data, None when it is missing or null."""


@frozen
class Mark:
    """Something that was found right, and where it is on the case's picture."""

    box: Box
    text: str = ""


@frozen
class Score:
    """One component's value on its declared scale; `value` is None when there was nothing to score it against.

    `uncapped` is the value before a rule capped it, `capped_by` names that rule.
    """

    name: str
    value: float | None
    weight: float = 1.0
    uncapped: float | None = None
    capped_by: str | None = None
    note: str = ""
    counts: Mapping[str, Count] = field(default_factory=dict)
    """What was counted on the way: the scorer's measures are ratios of these, summed over samples."""
    calls: tuple[ScorerCall, ...] = ()
    """What a model was asked for to get the value, recorded so that nobody is asked when it is scored again."""


@frozen
class Failure:
    """Why a target or judge gave nothing."""

    kind: str
    message: str


TIMEOUTS = ("timeout", "connect_timeout", "http_408", "http_504", "http_524")
"""Kinds of failures that end a wait: ours, or that of a gateway on the way (504 and Cloudflare's 524) or of the server
(408). The call took at least as long. Every other failure has no latency: a refused connection or a 500 ended the call
without an answer, and says nothing of how long one would have taken."""
SCORER_ERROR = "SCORER_ERROR"
"""The code of a finding that says that a scorer itself broke."""


@slotted
class CallResult:
    """One answered (or finally failed) call of the target for a case, variant and repeat."""

    text: str | None = None
    status: int | None = None
    latency: float = 0.0
    """Seconds that all attempts took, waits between them excluded; 0 in a recording that does not say: then it is in no
    figure. Of a call that failed, the time waited."""
    started_at: float = 0.0
    tries: Whole = 1
    """Attempts; 0 when no call was made: of answers from a cache, replayed and imported ones."""
    tokens_in: Whole | None = None
    tokens_out: Whole | None = None
    cost: float | None = None
    model: str | None = None
    cached: bool = False
    failure: Failure | None = None
    first_byte: float | None = None
    """Seconds until the first byte of the answer's body came; None when the target cannot tell."""
    queued: float | None = None
    """Under an open load (so many calls a second, come what may), seconds between the moment the call was due and the
    moment it was sent; `latency` then counts from the moment it was due. None under a closed load."""
    cut_off: bool = False
    """True when the answer broke off at the limit of tokens."""
    first_token: float | None = None
    """Seconds until the first part of a streamed answer came; None when it was not streamed."""
    tokens_cached: Whole | None = None
    first_failure: str | None = None
    """Kind of failure of the first attempt; None when it was answered, or no call was made."""
    made_at: float | None = None
    """Of an answer from the cache, when the call was made that it comes from; None where nobody noted it."""
    response_id: str | None = None
    """The provider's own id of the answer; None when it gives none."""
    provider_cached: bool = False
    """True when the provider, or a gateway before it, marked the answer as one from its cache."""


@slotted
class ScorerCall:
    """One call of a model for a scorer. `key` is the digest of what was asked of which model."""

    key: str
    call_result: CallResult


@slotted
class JudgeCall:
    """One call of a judge: the how-manieth turn of the talk with that member of the panel for that repeat."""

    member: str
    repeat: Whole
    turn: Whole
    call_result: CallResult
    shortened: bool = False
    """True when the judge saw only the head and the tail of a long text."""


@frozen
class Remark:
    """Something wrong with the judge, not with what it judged."""

    code: str
    """One of the codes in `REMARKS`."""
    dimension: str = ""
    message: str = ""


@frozen
class Vote:
    """What one judge gave of one text. `mode` is None when it gave none; `step` then is "failed"."""

    member: str
    repeat: Whole
    mode: Mode | None
    step: str
    """How it was read: strict, extracted, repaired, basic, asked_again, failed, rules or, by another tool, recorded."""
    uncapped: Mapping[str, float | bool] = field(default_factory=dict)
    """By dimension and flag, as the judge gave it."""
    capped: Mapping[str, float | bool] = field(default_factory=dict)
    """The same after rules and checks."""
    capped_by: Mapping[str, str] = field(default_factory=dict)
    """By dimension or flag that differs, the rule that capped it, as written."""
    remarks: tuple[Remark, ...] = ()
    response: Mapping[str, Any] = field(default_factory=dict)
    """The judge's whole answer as parsed, reasons, notes and what else it gave, less what a check found to be wrong."""
    message: str = ""
    """Why there are no scores, or in mode `basic` why there is nothing else; "" otherwise."""
    findings: tuple[Finding, ...] = ()
    """Errors of the system under test that the judge names, as far as they bear checking."""
    claims: tuple[Claim, ...] = field(default=(), compare=False)
    """Claims of the answer that the judge lets stand or not; kept with the sample, not with the vote."""
    shortened: bool = False
    """True when it saw only the beginning and the end of a long text."""


def nearest(votes: Sequence[Vote], capped: Mapping[str, float | bool]) -> Vote:
    """The vote that stands for the others: the first of those whose capped scores are nearest to these."""
    return min(votes, key=lambda vote: sum(abs(vote.capped[name] - capped[name]) for name in capped))


@frozen
class Judgement:
    """All votes on one text, and what they come to. `mode` is None when they come to nothing."""

    mode: Mode | None
    votes: tuple[Vote, ...] = ()
    uncapped: Mapping[str, float | bool] = field(default_factory=dict)
    """The votes combined, before rules and checks."""
    capped: Mapping[str, float | bool] = field(default_factory=dict)
    """The votes combined, after rules and checks: what counts."""
    capped_by: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    """On the panel as a whole; each vote has its own."""
    findings: tuple[Finding, ...] = ()
    """What the representative vote says is wrong, less what a check contradicts."""
    claims: tuple[Claim, ...] = field(default=(), compare=False)
    """Those of the same vote; kept with the sample, not with the judgement."""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    """What the suite's own measures found, by component: what the rules look at."""
    calls: tuple[JudgeCall, ...] = ()
    """Everything that was asked for; empty for a judge that is code."""
    message: str = ""
    """Why there is no result; "" when there is one."""

    @property
    def stands(self) -> Vote | None:
        """The vote that stands for the others; None when they come to nothing."""
        of_mode = [vote for vote in self.votes if vote.mode is self.mode]
        return nearest(of_mode, self.capped) if self.mode is not None and of_mode else None


@slotted
class Sample:
    """A call with what its answer scored. `score` is a fraction 0..1; None when inconclusive."""

    case_id: str
    variant: str
    repeat: Whole
    call_result: CallResult
    outcome: Outcome
    score: float | None = None
    passed: bool | None = None
    band: str | None = None
    scores: tuple[Score, ...] = ()
    findings: tuple[Finding, ...] = ()
    marks: tuple[Mark, ...] = ()
    claims: tuple[Claim, ...] = ()
    """Every claim of the answer that came with a confidence."""
    checks: tuple[Check, ...] = ()
    """Every expectation that applies to the case, those that could not run included."""
    items: tuple[Item, ...] | None = None
    """What repeats are compared by; None when the suite compares nothing, or this answer could not be read."""
    step: str | None = None
    judgement: Judgement | None = None
    """The judge's result; None for a suite without one, and for answers that no judge has read."""
    category: str | None = None
    difficulty: str | None = None
    cluster: str | None = None
    tags: tuple[str, ...] = ()
    case_hash: str = ""
    position: Whole | None = None
    """Its place in the plan (cases x variants x repeats); None lets the store take the next free place."""

    @property
    def mode(self) -> Mode | None:
        """The kind of judge behind the score; None without a judge."""
        return None if self.judgement is None else self.judgement.mode

    @property
    def unit(self) -> str:
        """The name of the unit of evidence: of its case's cluster or, when it has none, of the case."""
        return self.case_id if self.cluster is None else f"\n{self.cluster}"

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies a sample inside its run."""
        return (self.case_id, self.variant, self.repeat)


@frozen
class ScoringTime:
    """What scoring took: seconds an answer, and its share of the time since the first answer."""

    mean: float
    share: float


@frozen
class Load:
    """How the calls of a run were made, and how far that could be done."""

    concurrency: Whole
    rate: float | None = None
    """Calls a second that fell due whatever came back: an open load."""
    requests_per_second: float | None = None
    warm_up: Whole = 0
    changed: bool = False
    """True when the run was resumed under another load."""
    warm_up_failed: Whole = 0
    held_up: Whole = 0
    """Calls of an open load that were due and had to wait, since as many as may be were under way."""
    loop_lag: float | None = None
    """Seconds that the event loop was late on average."""
    scoring: ScoringTime | None = None

    @property
    def pace(self) -> tuple[float | None, ...]:
        """What latencies depend on: without the same they cannot be compared."""
        return self.rate, self.requests_per_second, self.concurrency

    @property
    def declared(self) -> dict[str, float | None]:
        """What was asked for, without how it went."""
        return values_of(self, "rate", "requests_per_second", "concurrency", "warm_up")


@frozen
class Owner:
    """The process that runs a run, told apart from a later one with the same number by when it began."""

    host: str
    pid: int
    began: str | None = None
    """In the kernel's own count; None where the system does not tell."""
    machine: str = ""
    """The boot and the process namespace in which `pid` counts; "" where the system does not tell."""
    token: str = ""
    """Under which this process writes the run, and no other."""


@frozen
class Retried:
    """The run whose failed samples were asked for again, and how many of its samples were taken over as they are."""

    run: str
    retained: Whole
    asked: Whole
    spent: float | None = None
    """What the calls of this run cost; None until they are made."""
    total: Whole = 0
    """Samples requested again by this run and by the retries that it continues; 0 in a run that did not count them."""
    retries: Whole = 1
    """How many runs that is."""


@frozen
class DrawnSample:
    """So many of a suite's cases, in proportion by category, difficulty, tag or a field; "" for one stratum."""

    n: Whole
    by: str = ""
    seed: int = 0


@frozen
class AbPlan:
    """How an offline A/B is done and decided: stored with both runs before the first call."""

    seed: int = 0
    metric: str = "average"
    max_cases: Whole | None = None
    stop_early: bool = False
    same_within: float | None = None
    """How far apart, as a share, the arms may be and count as the same; None when nothing does."""
    id: str = ""
    """What both runs belong to."""
    cases: Whole = 0
    """How many are planned."""
    arm: str = ""
    """a or b."""


@frozen
class ExperimentPlan:
    """The plan of an experiment as its file had it: stored with both runs before the first call.

    Of the arms' settings only numbers stand in the clear, all others by their hash: one may hold a secret.
    """

    name: str
    hypothesis: str
    suite: str
    factor: str
    adopt: tuple[str, ...]
    reject: tuple[str, ...]
    cases: str
    """A hash of what is asked for of the cases."""
    arms: Mapping[str, Any]
    """The settings of both arms, by their names."""
    digest: str = ""
    """A hash of all above, which any later change of it changes."""
    id: str = ""
    """What both runs belong to."""
    arm: str = ""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those of the run's own arm."""
        settings: Mapping[str, Any] = self.arms.get(self.arm, {})
        return settings


@frozen
class ImportedFrom:
    """The snapshot of another tool that a run came from, and what that tool states."""

    file: str
    format: str = ""
    digest: str = ""
    differences: tuple[str, ...] = ()
    """Where its own summary does not fit its records."""
    notes: tuple[str, ...] = ()
    """What it says and nobody can compute again."""
    stated: Mapping[str, Any] = field(default_factory=dict)
    """Figures that it states, by case and name."""
    undated: bool = False
    tool: str = ""
    """The tool, with its version, whose scores these are; "" when Steelyard scored the answers."""


@frozen
class Original:
    """What a snapshot of another tool holds beyond the run, so that it can be written again as it was."""

    document: Any = None
    samples: tuple[Any, ...] = ()
    """One for each sample, by position."""


@frozen
class AnchorReading:
    """What the judge of a run made of one answer of an earlier run."""

    case_id: str
    variant: str
    repeat: Whole
    score: float | None = None
    passed: bool | None = None


@frozen
class Anchors:
    """Answers of an earlier run that the judge of this one read again, to measure a drift of it."""

    readings: tuple[AnchorReading, ...] = ()
    cost: float | None = None
    """None when it is not known."""
    message: str = ""


@frozen
class BaselineGates:
    """How a run was compared with its baselines when it ended."""

    asked: str | None = None
    """The baseline or run that was asked for, beside those of the suite's gates."""
    gates: tuple[Any, ...] = ()
    """The result of each gate on a baseline."""


@frozen
class Signature:
    """What can change a number: a short hash for each part of the suite, the target and its model, and all as a line.

    None is for a part that a run does not state: it has none, or was made before Steelyard recorded it.
    """

    suite: str | None = None
    """The suite's name."""
    cases: str | None = None
    truth: str | None = None
    scorers: str | None = None
    prompts: str | None = None
    schema: str | None = None
    judge: str | None = None
    """What the judge is asked; "" without a judge."""
    rules: str | None = None
    """What is made of the judge's answers; "" without a judge."""
    target: str | None = None
    redact: str | None = None
    slices: str | None = None
    target_kind: str | None = None
    model: str | None = None
    """The name of the target's model."""
    sample: str | None = None
    """Which cases were sampled, as text."""
    text: str | None = None
    """All of it in one line."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """What else the JSON object holds: parts of other versions, and parts that are null."""

    def part(self, name: str) -> str | None:
        """A part by its name; None for a part that the run does not state."""
        return getattr(self, name) if name in _PARTS else self.others.get(name)

    def to_data(self) -> dict[str, Any]:
        """The signature as a JSON object."""
        data = {}
        for name in _PARTS:
            if (value := getattr(self, name)) is not None or name in self.others:
                data[name] = value
        return data | dict(self.others)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Signature:
        """The signature back from `to_data`."""
        parts = {name: value for name, value in data.items() if name in _PARTS and isinstance(value, str)}
        return cls(**parts, others={name: value for name, value in data.items() if name not in parts})


_PARTS = tuple(name for name in Signature.__match_args__ if name != "others")


@frozen
class TargetFacts:
    """What was scored, as the target's `identity` states it, free of secrets. Each kind of target states its own facts;
    those that other code reads have names here."""

    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """http, chat, python, command, recorded, imported or a plug-in's own; "" where it is not stated."""
        return str(self.facts.get("kind") or "")

    @property
    def model(self) -> str | None:
        """The model's name; None where there is none, or the target cannot know it."""
        model = self.facts.get("model")
        return model if isinstance(model, str) else None

    @property
    def address(self) -> str:
        """The address that calls go to; "" where there is none."""
        return str(self.facts.get("address") or "")

    @property
    def settings(self) -> Mapping[str, Any] | None:
        """Settings that change answers; None where the target states none, or only their hash."""
        settings = self.facts.get("settings")
        return settings if isinstance(settings, Mapping) else None

    @property
    def prompts(self) -> Mapping[str, Any]:
        """A hash for each prompt, by name."""
        prompts = self.facts.get("prompts")
        return prompts if isinstance(prompts, Mapping) else {}

    def to_data(self) -> dict[str, Any]:
        """The facts as a JSON object."""
        return dict(self.facts)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TargetFacts:
        """The facts back from `to_data`, or of a target's `identity`."""
        return cls(data)


@frozen
class PastRun:
    """What is known of a run among the earlier ones of another; it is all that is left of a deleted one."""

    id: str
    suite_name: str
    created_at: float
    verdict: str
    """PASS, FAIL, AMBIGUOUS or INVALID; `without gates` where none decided, and the state of one that has not ended."""
    signature: Signature = Signature()
    criteria: str = ""
    """The digest of its gates, limits and prices; "" of a run that did not store it."""
    source: str = ""
    """The run whose answers it scored or judged again; "" when it requested its own."""
    judged_again: bool = False
    plan: str = ""
    """What tells the A/B or experiment that it is an arm of from all others."""
    experiment: str = ""
    deleted_at: float | None = None


@frozen
class EarlierRuns:
    """The other runs of the same target on the same suite or cases that the store had when a run ended."""

    verdicts: Mapping[str, Whole] = field(default_factory=dict)
    """By verdict, how many runs; those that scored recorded answers again are not among them."""
    other_signature: Whole = 0
    """How many of them have another signature: scorers, truth, cases or judge."""
    other_criteria: Whole = 0
    """How many of them have the same signature, and other gates, limits or prices."""
    deleted: Whole = 0
    same_answers: Mapping[str, Whole] = field(default_factory=dict)
    """Where recorded answers were scored or judged again, the earlier verdicts on these answers."""


@frozen
class CriteriaChanges:
    """What decided on another run and differs in this one, and the cases of that run that this one has not."""

    run: str
    label: str = ""
    """What the other run is called: a baseline; "" for the run before this one."""
    changes: tuple[str, ...] = ()
    """`gate pass_rate >= 90 % -> pass_rate >= 60 %`."""
    dropped: tuple[str, ...] = ()
    """Ids of the cases that the other run had and this one has not."""
    dropped_passed: Whole | None = None
    """How many of them passed there; None without a pass rule."""
    drift: str = ""
    """How far a baseline is from its first lock, in words; "" when it is not."""


@frozen
class RunFacts:
    """What was asked for when a run began, what it belongs to, and how it went."""

    only: tuple[str, ...] = ()
    """The part of the cases and variants that was asked for, such as `category=furniture`."""
    limit: Whole | None = None
    sample: DrawnSample | None = None
    repeats: Whole | None = None
    """As asked for; None: as the suite declares."""
    strict: bool = False
    cache: bool = False
    answers_of: str | None = None
    """The run whose answers were judged anew."""
    other_cases: str = ""
    """The cases that took the place of the suite's own."""
    load: Load | None = None
    """None when the calls were made elsewhere."""
    owner: Owner | None = None
    """None when nobody is running it."""
    stopped: str | None = None
    """Why it stopped before its end: an outage or a spending limit; None also after Ctrl-C."""
    broken: str | None = None
    """Why the system under test was gone at the end, or before it."""
    retried: Retried | None = None
    resumed_from: str | None = None
    """The unfinished run whose answers were scored again by changed scorers before the others were asked for."""
    ab: AbPlan | None = None
    experiment: ExperimentPlan | None = None
    imported: ImportedFrom | None = None
    original: Original | None = field(default=None, metadata={"hidden": True})
    anchors: Mapping[str, Anchors] = field(default_factory=dict)
    against: BaselineGates | None = None
    asked_by: Mapping[str, Any] | None = field(default=None, metadata={"hidden": True})
    """The target's settings and the variants, without secrets (`targets/stored_request.py`): with a case they give the
    request as sent, and with another run what differs between the targets."""
    target_name: str = ""
    """What the suite calls the target; "" where it gives no name. No part of the signature: it changes no answer."""
    prices: Mapping[str, Any] = field(default_factory=dict)
    """By model that was asked, what a million tokens cost, by kind of token; None where no price is known."""
    criteria: str = ""
    """The digest of what decides and is not in the signature: gates, criteria, limits, repeats and prices."""
    earlier: EarlierRuns | None = None
    """None while the run has not ended."""
    all_cached: bool = False
    """Whether every answer of an ended run came from the cache."""
    changed: tuple[CriteriaChanges, ...] = ()
    """Since the run before this one, and since the baselines that it was compared with."""


@slotted
class RunHeader:
    """Everything about a run except its samples. `suite` is the suite as plain data."""

    id: str
    suite_name: str
    suite_path: str
    created_at: float
    signature: Signature
    target: TargetFacts
    suite: dict[str, Any]
    options: RunFacts = RunFacts()
    n_planned: Whole = 0
    state: RunState = RunState.RUNNING
    ended_at: float | None = None
    verdict: Verdict | None = None
    suspect: tuple[str, ...] = ()
    rescored_from: str | None = None
    version: str = ""

    @cached_property
    def description(self) -> SuiteModel:
        """The suite as this run used it."""
        from pydantic import ValidationError

        from steelyard.suite.models import SuiteModel  # the models of suites know records

        try:
            return SuiteModel.from_data(self.suite)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            # Steps such as "(list)" are of the form that was tried, not of the place.
            place = ".".join(str(step) for step in first["loc"] if not str(step).startswith("("))
            more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
            raise UsageError(f"run {self.id} does not say what its suite is: {place}: {first['msg']}{more}") from None

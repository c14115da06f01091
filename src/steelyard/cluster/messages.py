"""What goes to a worker and what comes back.

No value of a secret is in any of it: a worker reads its own environment.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.engine.scoring_processes import Task
from steelyard.errors import UsageError
from steelyard.frozen import frozen
from steelyard.loading.load import load_without_cases, strict
from steelyard.records import Sample, Signature
from steelyard.scoring.evaluate import Evaluated
from steelyard.suite.case import CaseSurvey
from steelyard.suite.models import Limits, SuiteModel
from steelyard.suite.prices import Prices, read_prices
from steelyard.suite.signature import signature
from steelyard.targets.base import Request, Response


@frozen
class Setup:
    """What a worker needs of a suite to call its target and to score; its cases come with the work."""

    place: str
    """The suite's file in its folder, or the name of one that is installed."""
    folder: str | None
    """Where the suite is on the worker; None: in the working directory that Ray has brought there."""
    survey: CaseSurvey
    chosen: bytes
    """Target, prompts and who judges how often, as chosen for the run; pickled, since what is of the suite's own code
    can be read only after the suite."""
    strict: bool
    limits: Limits
    asks: bool
    """Whether the target is called; else answers are recorded ones."""
    judges: bool
    """Whether judges that are models are called; else what they said is recorded."""
    signature: Signature
    prices: Prices
    version: str = __version__

    @classmethod
    def of(cls, suite: SuiteModel, limits: Limits, *, asks: bool, judges: bool, strict: bool, ships: bool) -> Setup:
        """That of a suite as it is here; with `ships`, Ray brings its folder along. UsageError if it cannot be."""
        path = Path(suite.path)
        if not suite.path or (path.exists() and not path.resolve().is_relative_to(suite.folder)):
            raise UsageError(
                f"the suite {suite.name} is in no file, so other processes cannot read it: write it to one"
            )
        try:
            judge = None if suite.judge is None else (suite.judge.members, suite.judge.repeats)
            chosen = pickle.dumps((suite.target, suite.prompts, judge))
        except Exception as error:
            message = f"the target or judge of suite {suite.name} cannot be sent to other processes"
            raise UsageError(f"{message}: name it as module:function") from error
        here = path.exists()
        return cls(
            place=str(path.resolve().relative_to(suite.folder)) if here else suite.path,
            folder=None if here and ships else str(suite.folder),
            survey=suite.survey,
            chosen=chosen,
            strict=strict,
            limits=limits,
            asks=asks,
            judges=judges,
            signature=_without_target(signature(suite)),
            prices=read_prices(suite.folder),
        )

    def load(self) -> SuiteModel:
        """The suite on this worker; UsageError when it is not the one that the run was begun with."""
        if self.version != __version__:
            raise UsageError(f"it has Steelyard {__version__}, and the run was started by {self.version}")
        folder = Path.cwd() if self.folder is None else Path(self.folder)
        inside = folder / self.place
        suite = load_without_cases(str(inside if inside.exists() else self.place), self.survey)
        suite = strict(suite) if self.strict else suite
        target, prompts, judged = pickle.loads(self.chosen)  # noqa: S301 - written by the driver of this run
        judge = None if suite.judge is None or judged is None else suite.judge.judged_by(judged[0], repeats=judged[1])
        suite = suite.changed(target=target, judge=judge, prompts=prompts, survey=self.survey)
        now = _without_target(signature(suite))
        if changed := [part for part in self.signature.to_data() if now.part(part) != self.signature.part(part)]:
            raise UsageError(f"its copy of suite {suite.name} differs in {', '.join(changed)}")
        return suite


def _without_target(signed: Signature) -> Signature:
    return replace(signed, text=None, target=None, target_kind=None, model=None)


@frozen
class Ask:
    """Call the target once and score what it answers."""

    request: Request


@frozen
class Complete:
    """Let a judge that is a model answer once."""

    member: str
    body: dict[str, Any]
    schema: dict[str, Any] | None


@frozen
class LookAround:
    """Find out whether the system under test is still there."""


Work = Ask | Task | Complete | LookAround
"""A Task is to be scored."""


@frozen
class LeaseItem:
    """One piece of a lease: what is to be done for which arm, and the number to report it under."""

    number: int
    arm: int
    work: Work


@frozen
class WorkerAnswer:
    """What a call came to. Of the answer to an Ask, the score follows."""

    number: int
    value: Any


@frozen
class Scored:
    """A sample without its answer, with what a judge that is a model has still to read, and the seconds it took."""

    number: int
    sample: Sample
    evaluated: Evaluated | None
    seconds: float


@frozen
class Broken:
    """Work that raised what no target and no scorer may raise."""

    number: int
    message: str


Report = WorkerAnswer | Scored | Broken


def text_size(report: Report) -> int:
    """About how many characters the report holds."""
    value = report.value if isinstance(report, WorkerAnswer) else None
    return 500 + (len(value.text) if isinstance(value, Response) else 0)

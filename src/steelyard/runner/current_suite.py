"""Whether the suite that a run was scored with is still there, as it was."""

from __future__ import annotations

from steelyard.errors import SteelyardError
from steelyard.frozen import frozen
from steelyard.loading.chosen_judge import judged_as_then
from steelyard.loading.load import as_imported, strict, suite_of_run
from steelyard.records import RunHeader
from steelyard.suite.case import digest
from steelyard.suite.ledger import SCORED_BY, LedgerLine
from steelyard.suite.models import SuiteModel
from steelyard.suite.signature import judge_asked, signature


@frozen
class CurrentSuite:
    """The suite of a run, or why it is not found; its cases and truth may be others, since runs keep their own."""

    suite: SuiteModel | None
    why: str = ""
    why_no_judge: str = ""
    """Why the judge of the run cannot be asked; "" when it can, or there is none."""
    ledger: tuple[LedgerLine, ...] = ()
    """As it is now, of a suite that has changed since, too: a reason holds for the state it led to."""

    @property
    def is_judge(self) -> bool:
        """True when the judge is that of the run, or neither has one."""
        return not self.why_no_judge


def current_suite(header: RunHeader, place: str | SuiteModel | None = None) -> CurrentSuite:
    """The suite that a run was scored with, at `place` or found by its name; a `place` that cannot be read is the
    user's mistake."""
    if header.options.imported is not None and header.options.imported.tool:
        return CurrentSuite(None, f"run {header.id} was scored by {header.options.imported.tool}, not by Steelyard")
    try:
        suite = suite_of_run(header, place)
        suite = strict(suite) if header.options.strict else suite
        no_judge, suite = _judge_of(suite, header)
        now = signature(suite, header.target)
    except SteelyardError as error:
        if place is not None:
            raise
        return CurrentSuite(
            None, f"run {header.id}'s suite cannot be read ({_first_line(error)}): `compare --suite PLACE` names it"
        )
    changed = [part for part in SCORED_BY if now.part(part) != (header.signature.part(part) or "")]
    if changed:
        return CurrentSuite(
            None,
            f"the suite at {suite.path} is not the one that run {header.id} was scored with:"
            f" {' and '.join(changed)} changed since; `compare --suite PLACE` names that one",
            ledger=suite.ledger,
        )
    return CurrentSuite(as_imported(suite) if header.options.imported else suite, "", no_judge, suite.ledger)


def _judge_of(suite: SuiteModel, header: RunHeader) -> tuple[str, SuiteModel]:
    """The suite judged as the run was, after what blocks that."""
    if suite.judge is None:
        return "", suite
    try:
        suite = judged_as_then(suite, header.description.judge, to_ask=False)
        asked = "" if suite.judge is None else digest(judge_asked(suite.judge, suite.folder))
    except SteelyardError as error:
        return _first_line(error), suite
    if asked != header.signature.judge:
        return f"the judge of run {header.id} (its model, prompt or rubric) is not in the suite any more", suite
    return "", suite


def _first_line(error: SteelyardError) -> str:
    return str(error).partition("\n")[0]

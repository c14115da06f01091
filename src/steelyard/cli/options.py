"""Options that several commands share."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.output import confirm, console, print_json
from steelyard.errors import UsageError
from steelyard.frozen import frozen

if TYPE_CHECKING:
    from steelyard.analysis.compare.attribution import Traces
    from steelyard.analysis.compare.attribution_model import Attribution
    from steelyard.analysis.compare.model import Comparison
    from steelyard.analysis.explain import Explanation, PairExplanation
    from steelyard.judging.ask import CostEstimate
    from steelyard.records import RunHeader
    from steelyard.results.find import StoredRun
    from steelyard.runner.attribute import Purchase
    from steelyard.store.base import Store
    from steelyard.suite.models import SuiteModel


# Options that several commands take, declared once.

FILE = click.Path(dir_okay=False, path_type=Path)
_POINTS = re.compile(r"([0-9]*[.,]?[0-9]+)\s*(points?|pp|%)?", re.IGNORECASE)


class Finite(click.FloatRange):
    """A number in a range; "nan" and "inf" are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def read_rate(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Calls a second in `20/s`, `90/min` or `20`; None when nothing was given."""
    from steelyard.suite.values import parse_rate

    return _read(parse_rate, context, parameter, value)


def read_time(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Seconds in `5m`, `90s` or `90`; None when nothing was given."""
    from steelyard.suite.values import parse_time

    return _read(parse_time, context, parameter, value)


def _read(
    parse: Callable[[str], float], context: click.Context, parameter: click.Parameter, value: str | None
) -> float | None:
    if value is None:
        return None
    try:
        return parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None


def read_points(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A change as a share: `3`, `3 points`, `2.5pp` or `3 %` are percentage points; None when nothing was given."""
    if value is None:
        return None
    match = _POINTS.fullmatch(value.strip())
    points = math.nan if match is None else float(match[1].replace(",", "."))
    if not 0 < points <= 100:
        option = parameter.opts[0]
        message = f"{value!r} is no change: write percentage points between 0 and 100, as in {option} '3 points'"
        raise click.BadParameter(message, context, parameter)
    return points / 100


as_json = click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead of text.")
store_url = click.option(
    "--store",
    "store_url",
    metavar="URL",
    help="Where runs are stored: a SQLite file or postgresql://... [default: $STEELYARD_STORE or .steelyard/]",
)
quiet = click.option("--quiet", is_flag=True, help="Print the verdict alone, and no progress.")
verbose = click.option("--verbose", is_flag=True, help="Print a line per sample as it is stored, instead of a bar.")


def refuse_quiet_and_verbose(*, quiet: bool, verbose: bool) -> None:
    """UsageError for both at once."""
    if quiet and verbose:
        raise UsageError("--quiet prints no progress, and --verbose prints a line per sample: give one of them")


def completed(what: str) -> Callable[..., Any]:
    """What a shell completes: `runs`, `suites` or `metrics`, read when it asks."""
    return lambda *typed: getattr(importlib.import_module("steelyard.cli.completion"), what)(*typed)


run_name = click.argument("run", metavar="[RUN]", default="LAST", shell_complete=completed("runs"))
against = click.option(
    "--against",
    metavar="NAME|FILE",
    help="Compare the run with this baseline, run or snapshot file, too: worse beyond noise is a FAIL.",
)
allow_mismatch = click.option("--allow-mismatch", is_flag=True, help="Compare although the signatures differ.")
only = click.option(
    "--only",
    metavar="FACTOR=VALUE",
    multiple=True,
    help="Score a part: category=, difficulty=, tag=, variant=, id= or input.FIELD=. May be given more than once.",
)
limit = click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Run at most this many cases.")
concurrency = click.option(
    "--concurrency", metavar="N", type=click.IntRange(min=1), help="Most calls at the same time."
)


def together(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Options that go together as one decorator."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)


on_workers = together(
    click.option(
        "--on",
        "--address",
        "on",
        metavar="WHERE",
        help="Let workers on Ray call and score: ray (started here), auto, or ray://HOST:PORT.",
    ),
    click.option(
        "--workers",
        metavar="N",
        type=click.IntRange(min=1),
        help="With --on: workers on Ray; else processes that score recorded answers. [default: as many as pay]",
    ),
)
"""`--on` and `--workers`: where calls are made and answers scored."""


max_inconclusive = click.option(
    "--max-inconclusive",
    metavar="SHARE",
    type=Finite(0, 1),
    help="Share of failed calls, 0 to 1, above which the run is INVALID. [default: as the suite says, 0.05]",
)


target_options = together(
    click.option("--target", metavar="NAME", help="One of the suite's targets, or a kind of target."),
    click.option("--model", metavar="NAME", help="The model a chat target asks for."),
    click.option("--base-url", metavar="URL", help="Where the target listens."),
    click.option(
        "--set",
        "settings",
        metavar="KEY=VALUE",
        multiple=True,
        help="Any other setting of the target; VALUE is read as YAML. May be given more than once.",
    ),
)
"""`--target`, `--model`, `--base-url` and `--set`: which system to score."""


judge_choice = together(
    click.option("--judge", metavar="NAME|URL", help="One of the suite's judges, or where a chat model listens."),
    click.option("--judge-model", metavar="NAME", help="The model that judges."),
    click.option("--judge-token", metavar="ENV", help="The environment variable that holds the judge's key."),
    click.option(
        "--judge-temperature", metavar="T", type=Finite(min=0), help="The temperature that the judge is asked with."
    ),
)
"""`--judge`, `--judge-model`, `--judge-token` and `--judge-temperature`: who judges."""


judge_options = together(
    judge_choice,
    click.option(
        "--judge-repeats", metavar="N", type=click.IntRange(min=1), help="Let each text be judged this often."
    ),
)
"""Who judges, and how often each text."""


@frozen
class JudgeChoice:
    """What was asked for of the judge on the command line; None where nothing was."""

    name_or_url: str | None
    model: str | None
    token: str | None
    repeats: int | None = None
    temperature: float | None = None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        pairs = (
            ("--judge", self.name_or_url),
            ("--judge-model", self.model),
            ("--judge-token", self.token),
            ("--judge-repeats", self.repeats),
            ("--judge-temperature", self.temperature),
        )
        return [word for name, value in pairs if value is not None for word in (name, str(value))]

    def of(self, suite: SuiteModel) -> SuiteModel:
        """The suite judged as asked for; UsageError when it has no judge, or not that one."""
        from steelyard.loading.load import with_judge

        return with_judge(suite, self.name_or_url, self.model, self.token, self.repeats, self.temperature)


def chosen_settings(model: str | None, base_url: str | None, settings: tuple[str, ...]) -> dict[str, Any]:
    """What was asked for on the command line, as settings of a target."""
    import yaml

    chosen: dict[str, Any] = {}
    for text in settings:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise click.BadParameter(f"{text!r}: write KEY=VALUE", param_hint="--set")
        try:
            chosen[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise click.BadParameter(f"{text!r}: the value is not YAML", param_hint="--set") from error
    if model is not None:
        chosen["model"] = model
    if base_url is not None:
        chosen["base_url"] = base_url
    return chosen


# Options of `compare` on why the headline number moved, and what they ask for.


attribution_options = together(
    click.option(
        "--suite", metavar="SUITE", help="Where the suite is that B was scored with. [default: found by its name]"
    ),
    click.option(
        "--no-attribution", is_flag=True, help="Do not attribute the change of the headline number to causes."
    ),
    click.option(
        "--rejudge",
        metavar="N",
        type=click.IntRange(min=1),
        help="Let B's judge score N answers of A, to separate judge and system; estimates the cost first.",
    ),
    click.option(
        "--max-cost", metavar="COST", type=Finite(min=0), help="With --rejudge: spend no more than this on judges."
    ),
    click.option("--yes", is_flag=True, help="With --rejudge: do not ask for confirmation."),
)
"""`--suite`, `--no-attribution`, `--rejudge`, `--max-cost` and `--yes`."""


@frozen
class AttributionOptions:
    """What was asked for on the command line."""

    suite: str | None = None
    left_out: bool = False
    rejudge: int | None = None
    max_cost: float | None = None
    yes: bool = False

    def refuse_what_does_nothing(self) -> None:
        """UsageError for options that have no effect beside the others."""
        if self.left_out and (self.suite is not None or self.rejudge is not None):
            given = "--suite" if self.suite is not None else "--rejudge"
            raise UsageError(f"{given} and --no-attribution do not go together: leave one out")
        if self.rejudge is None and (self.max_cost is not None or self.yes):
            raise UsageError(f"{'--yes' if self.yes else '--max-cost'}: no judge is called without --rejudge N")

    def compared(
        self, a: StoredRun, b: StoredRun, store_url: str | None, closing: ExitStack, *, allow_mismatch: bool
    ) -> Comparison:
        """The comparison of two found runs, with why the headline number moved unless that is left out."""
        from steelyard.results.operations import compared

        if self.left_out:
            return compared(a, b, allow_mismatch=allow_mismatch)
        return self.traced(a, b, store_url, closing, allow_mismatch=allow_mismatch)[0]

    def traced(
        self, a: StoredRun, b: StoredRun, store_url: str | None, closing: ExitStack, *, allow_mismatch: bool
    ) -> tuple[Comparison, Attribution, Traces]:
        """The comparison, why the headline number moved, and what every reading adds to that."""
        from steelyard.results.operations import traced

        purchase = self._purchase(store_url, closing)
        return traced(a, b, suite=self.suite, purchase=purchase, allow_mismatch=allow_mismatch)

    def _purchase(self, store_url: str | None, closing: ExitStack) -> Purchase | None:
        from steelyard.runner.attribute import Purchase
        from steelyard.store.sql import open_store

        if self.rejudge is None:
            return None
        # In the user's own store, made if need be: what was paid for outlives the files that are compared.
        store = closing.enter_context(open_store(store_url))
        return Purchase(self.rejudge, store, self._agree, self.max_cost)

    def _agree(self, estimate: CostEstimate) -> None:
        if estimate.texts == 0:
            click.echo("All of these answers were judged before: no call is needed.", err=True)
            return
        click.echo(f"Letting B's judge score answers of A takes: {estimate}", err=True)
        confirm("Go on?", yes=self.yes)


# `--explain` and `--limit`: one figure of a report or a comparison, with everything behind it.

_LISTED = 10


explain_options = together(
    click.option(
        "--explain",
        metavar="METRIC",
        shell_complete=completed("metrics"),
        help="Print one figure's formula, n, what it leaves out and its samples: pass_rate,"
        " category.chairs.average, gain.FORMAT (list names all of a report); of a comparison also why.truth, or"
        " why for all parts of the change.",
    ),
    click.option(
        "--limit",
        metavar="N",
        type=click.IntRange(min=0),
        help=f"With --explain: list N samples. [default: {_LISTED}, with --json all]",
    ),
)
"""`--explain` and `--limit`."""


@frozen
class ExplainOptions:
    """What was asked for on the command line."""

    metric: str | None
    limit: int | None

    def refuse_beside(self, **given: object) -> None:
        """UsageError for options that have no effect beside these."""
        if self.metric is None:
            if self.limit is not None:
                raise UsageError("--limit: nothing is listed without --explain METRIC")
            return
        for name, value in given.items():
            if value:
                raise UsageError(f"--explain and --{name} do not go together: leave one out")

    @property
    def asks_why(self) -> bool:
        """Whether a part of the change of the headline number is asked for."""
        return (self.metric or "").partition(".")[0] == "why"

    def reported(self, store: Store, header: RunHeader, *, as_json: bool) -> None:
        """Print what stands behind a figure of a report, or the names of all of them."""
        from steelyard.report.explain import LIST, explain_report, list_figures

        if self.metric != LIST:
            self.show([header.id], explain_report(store, header, self.metric or ""), as_json=as_json)
            return
        if self.limit is not None:
            raise UsageError(f"--limit: --explain {LIST} names every figure, and lists no sample")
        from steelyard.report.explanations import print_names

        figures = list_figures(store, header)
        if as_json:
            print_json({"runs": [header.id], "figures": [{"name": name, "about": about} for name, about in figures]})
        else:
            print_names(figures, console(), title=f"Figures of {header.id}")

    def compared(self, a: StoredRun, b: StoredRun, *, allow_mismatch: bool, as_json: bool) -> int:
        """Print what stands behind a figure of a comparison; the exit code that the comparison ends with."""
        from steelyard.analysis.explain import explain_comparison
        from steelyard.results.operations import read_both, shown_comparison, traced_runs

        first, second = read_both(a, b)
        comparison = traced_runs(first, second, allow_mismatch=allow_mismatch)[0]
        result = explain_comparison(first, second, comparison, self.metric or "", allow_mismatch=allow_mismatch)
        self.show([first.header.id, second.header.id], result, as_json=as_json)
        return shown_comparison(comparison).exit_code

    def why(self, comparison: Comparison, attribution: Attribution, traces: Traces, *, as_json: bool) -> int:
        """Print what stands behind the parts of the change; the exit code that the comparison ends with."""
        from steelyard.analysis.compare.attribution import explain_why
        from steelyard.results.operations import shown_comparison

        runs = [comparison.a.id, comparison.b.id]
        self.show(runs, explain_why(attribution, traces, self.metric or ""), as_json=as_json)
        return shown_comparison(comparison).exit_code

    def show(
        self, runs: Sequence[str], explanations: Sequence[Explanation | PairExplanation], *, as_json: bool
    ) -> None:
        """Print what stands behind the figures."""
        if as_json:
            from steelyard.report.explanations import explanations_to_json

            print_json(explanations_to_json(runs, explanations, self.limit))
            return
        from steelyard.report.explanations import print_explanations

        print_explanations(explanations, console(), runs, _LISTED if self.limit is None else self.limit)

"""Everything a user can write is documented, and nothing that does not exist."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import click

from parts.looped import for_every
from steelyard import plugins
from steelyard.auditing.audit import AuditResult, ProbeResult
from steelyard.auditing.judge import InjectionResult
from steelyard.cli import LazyGroup, commands, summary_of
from steelyard.cli import steelyard as group
from steelyard.comparing.model import Comparison
from steelyard.decide.gates import Decision, GateResult
from steelyard.errors import SteelyardError
from steelyard.gating.operations import GateCheck
from steelyard.judge_checks.build import JudgeCard
from steelyard.metrics.expressions import short_name
from steelyard.metrics.reference import spelled
from steelyard.metrics.registry import FAMILIES, gate_metrics, metrics
from steelyard.records import Sample, Verdict
from steelyard.report.verdicts import INTERRUPTED, exit_code
from steelyard.run_history.history import History, HistoryRun, Trend
from steelyard.stats.intervals import Estimate
from steelyard.suite.cases import CasesFile
from steelyard.suite.judge import JudgeModel, Rubric
from steelyard.suite.mapping import CONVERSIONS, FIELDS
from steelyard.suite.models import (
    AnswerShape,
    AuditLimits,
    ComponentSettings,
    ConfidenceRules,
    FindingKind,
    Limits,
    SuiteModel,
)
from steelyard.suite.redaction import RedactPart
from steelyard.suite.units import UNITS
from steelyard.suite.yaml import written_keys

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src/steelyard"
BUILT_IN = {kind: sorted(plugins._BUILT_IN[kind]) for kind in ("scorers", "targets")}


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """What stands under a heading of the second level."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> str:
    """The first cell of every table row, where what a row is about stands."""
    return "\n".join(re.findall(r"^\|([^|]*)\|", text, re.M))


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def in_code(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", prose(text)))


# Each of these gives the names that are not documented; a doctored page shows below that it can.


def commands_not_documented(text: str) -> set[str]:
    return {name for name in commands() if not section(text, name).strip()}


def options_of(command: click.Command) -> set[str]:
    """Its own and those of the commands in it."""
    inside = command.commands.values() if isinstance(command, click.Group) else ()
    own = {
        name
        for option in command.get_params(click.Context(command))
        if isinstance(option, click.Option)
        for name in option.opts
    }
    return own.union(*(options_of(each) for each in inside))


def options_not_documented(text: str) -> set[str]:
    """As `command --option`; `--json`, `--store` and help may be documented once for all commands."""
    shared = documented_options(section(text, "Options of many commands"))
    return {
        f"{name} {option}"
        for name in commands()
        for option in options_of(command(name)) - documented_options(section(text, name)) - shared
    }


def options_that_are_none(text: str) -> set[str]:
    """Options in a command's table that the command does not have."""
    return {
        f"{name} {option}"
        for name in commands()
        for option in documented_options(section(text, name)) - options_of(command(name))
    }


def documented_options(text: str) -> set[str]:
    return {code.split()[0] for code in in_code(first_cells(text)) if code.startswith("-")}


def command(name: str) -> click.Command:
    found = LazyGroup().get_command(click.Context(group), name)
    assert found is not None
    return found


def scorers_not_documented(text: str) -> set[str]:
    """As `scorer` or `scorer.parameter`; `answer` is explained once for all."""
    missing = {"answer"} - in_code(text)
    for name in BUILT_IN["scorers"]:
        told = in_code(first_cells(section(text, name)))
        fields = set(plugins.find("scorers", name).model_fields) - {"answer"}
        missing |= {name} if not section(text, name) else {f"{name}.{field}" for field in fields - told}
    return missing


def targets_not_documented(text: str) -> set[str]:
    missing = set()
    for kind in BUILT_IN["targets"]:
        told = in_code(first_cells(section(text, kind)))
        if "All settings of [chat](#chat)" in section(text, kind):
            told |= in_code(first_cells(section(text, "chat")))
        fields = plugins.find("targets", kind).Settings.model_fields
        names = {field.alias or name for name, field in fields.items()}
        missing |= {kind} if not section(text, kind) else {f"{kind}.{name}" for name in names - told}
    return missing


def metrics_not_documented(text: str) -> set[str]:
    return {name for metric in metrics(FAMILIES).values() if (name := spelled(metric))} - in_code(first_cells(text))


PARTS = {
    "Keys": SuiteModel,
    "cases": CasesFile,
    "answer": AnswerShape,
    "score": ComponentSettings,
    "judge": JudgeModel,
    "rubric": Rubric,
    "redact": RedactPart,
    "confidence": ConfidenceRules,
    "findings": FindingKind,
    "limits": Limits,
    "audit": AuditLimits,
}


def suite_keys_not_documented(text: str) -> set[str]:
    missing = set()
    for title, part in PARTS.items():
        names = {*written_keys(part)}
        missing |= {f"{title}.{name}" for name in names - in_code(first_cells(section(text, title)))}
    case = set(FIELDS) | {"constant", "template", "from", "default", "as", "unit", '"*"'}
    missing |= {f"case.{name}" for name in case - in_code(first_cells(section(text, "cases")))}
    return missing | {f"mapping.{word}" for word in {*UNITS, *CONVERSIONS} - in_code(section(text, "cases"))}


def checks_not_documented(text: str) -> set[str]:
    """As `kind` or `kind.key`: a kind's own keys stand in its row, those of every kind in rows of their own."""
    rows = re.findall(r"^\|([^|]*)\|([^|]*)\|", section(text, "expect"), re.M)
    told = {name: in_code(keys) for first, keys in rows for name in in_code(first)}
    missing = set()
    for kind in plugins._BUILT_IN["checks"]:
        fields = plugins.find("checks", kind).model_fields
        keys = {field.alias or name for name, field in fields.items()} - {kind}
        own = {code.partition(":")[0] for code in told.get(kind, ())}
        missing |= {f"{kind}.{key}" for key in keys - own - set(told)} if kind in told else {kind}
    return missing


def health_figures_not_documented(text: str) -> set[str]:
    names = {short_name(name) for name, metric in gate_metrics(FAMILIES).items() if metric.of_judge}
    return names - in_code(first_cells(section(text, "judge")))


def probes_not_documented(text: str) -> set[str]:
    source = (ROOT / "src/steelyard/auditing/probes.py").read_text(encoding="utf-8")
    probes = set(re.findall(r'\bProbe\(\s*"([^"]+)"', source))
    assert {"empty", "truth"} < probes
    return probes - in_code(first_cells(section(text, "audit")))


def fields_not_documented(text: str) -> set[str]:
    """As `Class.field`: of what the Python API gives, each in the text under Fields."""
    given = (Estimate, Sample, Comparison, GateCheck, Decision, GateResult, JudgeCard, AuditResult, ProbeResult)
    given = (*given, InjectionResult, History, HistoryRun, Trend)
    told = in_code(text.partition("### Fields")[2].partition("\n## ")[0])
    return {f"{item.__name__}.{field.name}" for item in given for field in fields(item) if field.name not in told}


def exit_codes_not_documented(text: str) -> set[str]:
    codes = {exit_code(verdict) for verdict in (*Verdict, None)} | {SteelyardError.exit_code, INTERRUPTED}
    told = {cell.strip() for cell in first_cells(section(text, "Exit codes")).splitlines()}
    return {str(code) for code in codes} - told


CHECKS = [
    ("reference/commands.md", commands_not_documented, "## gate\n", "gate"),
    ("reference/commands.md", options_not_documented, "`--limit N` | Run at most this many cases,", "run --limit"),
    ("reference/commands.md", options_not_documented, "`-n N`, ", "run -n"),
    ("reference/commands.md", options_not_documented, "| `--suite SUITE` |", "rescore --suite"),
    ("reference/commands.md", options_not_documented, "| `--store URL` |", "export --store"),
    (
        "reference/commands.md",
        options_not_documented,
        "| `--markdown FILE` | Write the comparison as Markdown, too. |",
        "compare --markdown",
    ),
    ("reference/commands.md", probes_not_documented, "| `echo fields` |", "echo fields"),
    ("reference/commands.md", exit_codes_not_documented, "| 4 |", "4"),
    ("reference/python.md", fields_not_documented, "| `attribution` |", "Comparison.attribution"),
    ("reference/scorers.md", scorers_not_documented, "## choice\n", "choice"),
    ("reference/scorers.md", scorers_not_documented, "| `max_others` |", "alternatives.max_others"),
    ("reference/targets.md", targets_not_documented, "## command\n", "command"),
    ("reference/targets.md", targets_not_documented, "| `schema_strict` |", "chat.schema_strict"),
    ("reference/metrics.md", metrics_not_documented, "| `latency.p95` |", "latency.p95"),
    ("reference/suite-file.md", suite_keys_not_documented, "| `requests_per_second` |", "limits.requests_per_second"),
    ("reference/suite-file.md", suite_keys_not_documented, "| [`repeats`](#repeats) |", "Keys.repeats"),
    ("reference/suite-file.md", suite_keys_not_documented, "| `when_unknown` |", "score.when_unknown"),
    ("reference/suite-file.md", suite_keys_not_documented, "| `constant` |", "case.constant"),
    ("reference/suite-file.md", suite_keys_not_documented, "`inches`", "mapping.inches"),
    ("reference/suite-file.md", suite_keys_not_documented, "| `ask_again` |", "judge.ask_again"),
    ("reference/suite-file.md", checks_not_documented, "| `status` |", "status"),
    ("reference/suite-file.md", checks_not_documented, "| `body_has` |", "status.body_has"),
    ("reference/suite-file.md", checks_not_documented, "| `only_if` |", "count.only_if"),
    ("reference/suite-file.md", health_figures_not_documented, "| `broken_rules` |", "broken_rules"),
]


@for_every(("name", "check"), sorted({(name, check) for name, check, *_ in CHECKS}, key=str))
def test_everything_is_documented(name, check):
    assert check(page(name)) == set()


@for_every(("name", "check", "struck", "missed"), CHECKS)
def test_a_page_without_it_would_be_noticed(name, check, struck, missed):
    text = page(name)
    assert struck in text
    assert missed in check(text.replace(struck, "| gone |" if struck.startswith("|") else "", 1))


def test_no_option_is_documented_that_does_not_exist():
    text = page("reference/commands.md")
    assert options_that_are_none(text) == set()
    invented = text.replace("| `--junit FILE` | Write JUnit XML, for", "| `--pdf FILE` | Write it, for")
    assert options_that_are_none(invented) == {"report --pdf"}


def parts_that_the_note_has_otherwise(text: str) -> set[str]:
    """Packages and commands that only the repository has, or only the tables of the note on packages."""
    kernel, features = (
        text.partition(f"| package | {head} |")[2].partition("\n\n")[0] for head in ("what it holds", "commands")
    )
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")} - {"suites"}
    return in_code(first_cells(kernel) + features) ^ {*packages, *commands(), "--on"}


def modules_that_are_none(text: str) -> set[str]:
    """Modules that a note names, by a path or by their names alone, and that are not in the repository."""
    every = [path.parts for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")]
    named = set(re.findall(r"[\w/]+\.py\b", text)) - {"NAME_command.py"}
    return {name for name in named if not any(parts[-len(Path(name).parts) :] == Path(name).parts for parts in every)}


def test_the_note_on_packages_is_about_those_that_there_are() -> None:
    text = page("design/0007-the-house.md")
    assert parts_that_the_note_has_otherwise(text) == modules_that_are_none(text) == set()
    struck = text.replace("| `gating` | `gate` |", "| `gates` | `gate` |")
    assert parts_that_the_note_has_otherwise(struck) == {"gating", "gates"}
    assert modules_that_are_none(text.replace("runner/run.py", "runner/once.py")) == {"runner/once.py"}


@for_every("name", sorted(commands()))
def test_the_short_help_is_the_first_line_of_the_command(name):
    assert (command(name).help or "").partition("\n")[0] == summary_of(name)

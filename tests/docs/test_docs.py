"""Everything a user can write is documented, every link leads somewhere, and the pages do what they say."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from parts.command import steelyard
from parts.loopback import Loopback, chat_answer, json_answer
from parts.transcript import blocks, play
from steelyard import registry
from steelyard.cli import INTERRUPTED
from steelyard.cli.group import COMMANDS, LazyGroup
from steelyard.cli.group import steelyard as group
from steelyard.errors import SteelyardError
from steelyard.records import Verdict
from steelyard.release.verdict import exit_code
from steelyard.suite.conversions import CONVERSIONS
from steelyard.suite.file import AnswerPart, AuditPart, CasesPart, ComponentPart, FindingPart, LimitsPart, SuitePart
from steelyard.suite.gates import METRICS
from steelyard.suite.mapping import FIELDS
from steelyard.suite.units import UNITS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BUILT_IN = {kind: sorted(registry._BUILT_IN[kind]) for kind in ("scorers", "targets")}


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
    return {name for name in COMMANDS if not section(text, name).strip()}


def options_of(command: click.Command) -> set[str]:
    context = click.Context(command)
    return {name for option in command.get_params(context) if isinstance(option, click.Option) for name in option.opts}


def options_not_documented(text: str) -> set[str]:
    """As `command --option`; `--json`, `--store` and help may be documented once for all commands."""
    shared = documented_options(section(text, "Options of many commands"))
    return {
        f"{name} {option}"
        for name in COMMANDS
        for option in options_of(command(name)) - documented_options(section(text, name)) - shared
    }


def options_that_are_none(text: str) -> set[str]:
    """Options in a command's table that the command does not have."""
    return {
        f"{name} {option}"
        for name in COMMANDS
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
        fields = set(registry.find("scorers", name).model_fields) - {"answer"}
        missing |= {name} if not section(text, name) else {f"{name}.{field}" for field in fields - told}
    return missing


def targets_not_documented(text: str) -> set[str]:
    missing = set()
    for kind in BUILT_IN["targets"]:
        told = in_code(first_cells(section(text, kind)))
        fields = registry.find("targets", kind).Settings.model_fields
        names = {field.alias or name for name, field in fields.items()}
        missing |= {kind} if not section(text, kind) else {f"{kind}.{name}" for name in names - told}
    return missing


def metrics_not_documented(text: str) -> set[str]:
    return set(METRICS) - in_code(first_cells(text))


PARTS = {
    "Keys": SuitePart,
    "cases": CasesPart,
    "answer": AnswerPart,
    "score": ComponentPart,
    "findings": FindingPart,
    "limits": LimitsPart,
    "audit": AuditPart,
}


def suite_keys_not_documented(text: str) -> set[str]:
    missing = set()
    for title, part in PARTS.items():
        names = {field.alias or name for name, field in part.model_fields.items()}
        missing |= {f"{title}.{name}" for name in names - in_code(first_cells(section(text, title)))}
    case = set(FIELDS) | {"constant", "template", "from", "default", "as", "unit", '"*"'}
    missing |= {f"case.{name}" for name in case - in_code(first_cells(section(text, "cases")))}
    return missing | {f"mapping.{word}" for word in {*UNITS, *CONVERSIONS} - in_code(section(text, "cases"))}


def probes_not_documented(text: str) -> set[str]:
    source = (ROOT / "src/steelyard/audit/probes.py").read_text(encoding="utf-8")
    probes = set(re.findall(r'\bProbe\(\s*"([^"]+)"', source))
    assert {"empty", "truth"} < probes
    return probes - in_code(first_cells(section(text, "audit")))


def exit_codes_not_documented(text: str) -> set[str]:
    codes = {exit_code(verdict) for verdict in (*Verdict, None)} | {SteelyardError.exit_code, INTERRUPTED}
    told = {cell.strip() for cell in first_cells(section(text, "Exit codes")).splitlines()}
    return {str(code) for code in codes} - told


def dead_links(path: Path, text: str) -> set[str]:
    """Relative links to a file or a heading that is not there."""
    dead = set()
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, heading = link.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or (heading and heading not in anchors(there, text if there == path else None)):
            dead.add(link)
    return dead


def anchors(path: Path, text: str | None) -> set[str]:
    """The anchors that code hosts make of a page's headings."""
    source = path.read_text(encoding="utf-8") if text is None else text
    titles = re.findall(r"^#+ (.+)$", source, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


CHECKS = [
    ("reference/commands.md", commands_not_documented, "## gate\n", "gate"),
    ("reference/commands.md", options_not_documented, "`--limit N` | Weigh", "run --limit"),
    ("reference/commands.md", options_not_documented, "`-n N`, ", "run -n"),
    ("reference/commands.md", options_not_documented, "| `--suite SUITE` |", "rescore --suite"),
    ("reference/commands.md", options_not_documented, "| `--store URL` |", "export --store"),
    ("reference/commands.md", probes_not_documented, "| `echo fields` |", "echo fields"),
    ("reference/commands.md", exit_codes_not_documented, "| 4 |", "4"),
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
]


@pytest.mark.parametrize(("name", "check"), sorted({(name, check) for name, check, *_ in CHECKS}, key=str))
def test_everything_is_documented(name, check):
    assert check(page(name)) == set()


@pytest.mark.parametrize(("name", "check", "struck", "missed"), CHECKS)
def test_a_page_without_it_would_be_noticed(name, check, struck, missed):
    text = page(name)
    assert struck in text
    assert missed in check(text.replace(struck, "| gone |" if struck.startswith("|") else "", 1))


def test_no_option_is_documented_that_does_not_exist():
    text = page("reference/commands.md")
    assert options_that_are_none(text) == set()
    invented = text.replace("| `--md FILE` |", "| `--pdf FILE` |")
    assert options_that_are_none(invented) == {"report --pdf"}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_short_help_is_the_first_line_of_the_command(name):
    assert (command(name).help or "").partition("\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path):
    assert dead_links(path, path.read_text(encoding="utf-8")) == set()


def test_a_dead_link_would_be_noticed():
    text = "# A title\n[here](#a-title) [gone](nowhere.md) [dead](#no-title) [out](https://example.org/x)\n"
    assert dead_links(DOCS / "tutorial.md", text) == {"nowhere.md", "#no-title"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_yaml_example_can_be_read(path):
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language == "yaml":
            for document in yaml.safe_load_all(block.text):
                assert isinstance(document, dict), f"{path.name}:{block.line}"


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """The folder in which the tutorial was followed to its end, and what was not true in it."""
    folder = tmp_path_factory.mktemp("tutorial")
    return folder, play(page("tutorial.md"), folder)


def test_the_tutorial_does_what_it_says(tutorial):
    assert tutorial[1] == []


def test_the_targets_of_the_tutorial_work_with_a_real_service(tutorial):
    folder = tutorial[0]
    truth = {
        case["input"]["text"]: case["expected"] for case in yaml.safe_load((folder / "invoices/cases.yaml").read_text())
    }
    with Loopback() as server:
        server.on("/read", lambda seen: json_answer({"result": truth[seen.json["text"]]}))
        server.on(
            "/v1/chat/completions",
            lambda seen: chat_answer(
                yaml.safe_dump(truth[seen.json["messages"][-1]["content"]], default_flow_style=True)
            ),
        )
        asked = {"service": server.base_url, "model": f"{server.base_url}/v1"}
        for target, url in asked.items():
            done = steelyard("run", "invoices", "--target", target, "--base-url", url, cwd=folder)
            assert (done.returncode, "Pass rate 100.0 %" in done.stdout) == (0, True), done.stderr + done.stdout


def test_the_python_page_does_what_it_says(tmp_path):
    text = page("reference/python.md")
    install(text, tmp_path)
    assert play(text, tmp_path, {"PYTHONPATH": str(tmp_path)}) == []


def install(text: str, folder: Path) -> None:
    """Make the page's package known as an installer would: by the entry points of its pyproject.toml."""
    project = tomllib.loads(next(block.text for block in blocks(text) if block.file == "pyproject.toml"))["project"]
    known = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    known.mkdir()
    (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = configparser.ConfigParser()
    points.read_dict(project["entry-points"])
    with (known / "entry_points.txt").open("w") as file:
        points.write(file)


@pytest.mark.parametrize(
    ("doctored", "complaint"),
    [
        ("```sh\n$ echo one\none\n$ echo two\ntwo\n```\n", None),
        ("```sh\n$ echo one; echo two; echo three\none\n...\nthree\n```\n", None),
        ("```sh\n$ echo one\ntwo\n```\n", "the page says 'two'"),
        ("```sh\n$ echo one; echo two\none\n```\n", "also prints 'two'"),
        ("```sh\n$ echo one; echo two\n...\nthree\n...\n```\n", "the page says 'three'"),
        ("```sh\n$ exit 3\n```\n", "ended with 3"),
        ("```sh\n$ exit 3\n$ echo $?\n3\n```\n", None),
        ("```sh\n$ exit 3\n$ echo $?\n0\n```\n", "the page says '0'"),
        (
            "```text file=a/b.txt\nold\n```\n```diff file=a/b.txt\n-old\n+new\n```\n```sh\n$ cat a/b.txt\nnew\n```\n",
            None,
        ),
        ("```text file=b.txt\nold\n```\n```diff file=b.txt\n-other\n+new\n```\n", "stand 0 times in b.txt"),
        ("```console\n$ exit 3\n```\n", None),
    ],
)
def test_a_page_that_is_not_true_is_noticed(tmp_path, doctored, complaint):
    found = play(doctored, tmp_path)
    assert found == [] if complaint is None else complaint in found[0]


def foreign_parts(svg: str) -> list[str]:
    """What a picture would fetch from elsewhere."""
    return re.findall(r"@font-face|url\(['\"]?(?!#)[^)]*\)|href=\"(?!#)[^\"]*\"|@import", svg)


def test_the_pictures_need_nothing_from_elsewhere_and_are_small():
    assert foreign_parts((DOCS / "images/report.svg").read_text(encoding="utf-8")) == []
    assert (DOCS / "images/report-html.png").stat().st_size < 300_000


def test_a_picture_with_a_web_font_would_be_noticed():
    assert foreign_parts("@font-face { src: url('https://example.org/a.woff') }") != []

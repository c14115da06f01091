"""Every link leads somewhere, the pages do what they say, and the pictures need nothing from elsewhere."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from parts.command import steelyard
from parts.loopback import Loopback, chat_answer, json_answer
from parts.looped import for_every
from parts.transcript import blocks, play

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md", "llms.txt")),
    *sorted(DOCS.rglob("*.md")),
]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


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


@for_every("path", PAGES)
def test_every_link_leads_somewhere(path):
    assert dead_links(path, path.read_text(encoding="utf-8")) == set()


def test_a_dead_link_would_be_noticed():
    text = "# A title\n[here](#a-title) [gone](nowhere.md) [dead](#no-title) [out](https://example.org/x)\n"
    assert dead_links(DOCS / "tutorial.md", text) == {"nowhere.md", "#no-title"}


def test_the_list_of_pages_for_language_models_is_that_of_the_documentation():
    script = [sys.executable, ROOT / "scripts" / "llms.py"]
    made = subprocess.run(script, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert (ROOT / "llms.txt").read_text(encoding="utf-8") == made
    listed = set(re.findall(r"\]\(docs/([^)#]+\.md)", made))
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - listed == {
        "README.md",
        *(path.relative_to(DOCS).as_posix() for path in (DOCS / "design").glob("*.md")),
    }


@for_every("path", PAGES)
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


def test_the_readme_does_what_it_says(tmp_path):
    # The cases and the toy system are those of the starter suite; the README says so before its first block.
    assert steelyard("init", "invoices", cwd=tmp_path).returncode == 0
    text = PAGES[0].read_text(encoding="utf-8")
    assert len(blocks(text)[0].text.splitlines()) == 8
    assert play(text, tmp_path) == []


def test_the_tutorial_does_what_it_says(tutorial):
    assert tutorial[1] == []


def test_the_page_on_pictures_does_what_it_says(tmp_path):
    assert play(page("pictures.md"), tmp_path) == []


def test_the_page_on_judging_does_what_it_says(tmp_path):
    assert play(page("judging.md"), tmp_path) == []


def test_the_page_on_comparing_does_what_it_says(tmp_path):
    assert play(page("comparing.md"), tmp_path) == []


def test_the_page_on_people_does_what_it_says(tmp_path):
    assert play(page("people.md"), tmp_path) == []


def test_the_page_on_truth_does_what_it_says(tmp_path):
    assert play(page("truth.md"), tmp_path) == []


def test_the_page_on_deciding_does_what_it_says(tmp_path):
    assert play(page("deciding.md"), tmp_path) == []


def test_the_page_on_extending_does_what_it_says(tmp_path):
    assert play(page("extending.md"), tmp_path) == []


def test_the_page_on_ci_does_what_it_says(tmp_path):
    assert play(page("ci.md"), tmp_path) == []


def test_the_page_on_experiments_does_what_it_says(tmp_path):
    assert play(page("experiments.md"), tmp_path) == []


def test_the_page_on_services_does_what_it_says(tmp_path):
    assert play(page("services.md"), tmp_path) == []


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

"""What a run or a database names is data: without `--suite` no path in it is opened, and no code in it runs."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from parts.command import invoke, outputs
from parts.small_suite import write_suite


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return tmp_path


def trap(folder, kind="py"):
    """Code that leaves a file behind when it is run, as a suite in Python or beside a suite file; gives its path."""
    folder.mkdir(exist_ok=True)
    code = f"from pathlib import Path\nPath({str(folder / 'sprung')!r}).touch()\ndef answer(case):\n    return 'x'\n"
    if kind == "py":
        (folder / "trap.py").write_text(code)
        return folder / "trap.py"
    path = write_suite(folder, name="words", score={"word": {"python": "trap:answer"}})
    (folder / "trap.py").write_text(code)
    return path


@pytest.fixture
def two_runs(folder):
    """A baseline and a later run with another truth, which a comparison would like to rescore."""
    file = write_suite(folder / "words", n=2)
    invoke("run", "words")
    invoke("baseline", "set", "LAST", "--name", "release")
    cases = file.with_name("cases.jsonl")
    cases.write_text(cases.read_text().replace('"word 1"', '"word one"'))
    invoke("run", "words", "--against", "@release", code=1)
    return file


def forge(path):
    """Make all stored runs claim to be of the suite at `path`."""
    with closing(sqlite3.connect(".steelyard/steelyard.db")) as database, database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute("UPDATE runs SET suite_path = ?", (str(path),))


@pytest.mark.parametrize("kind", ["py", "yaml"])
def test_no_suite_that_a_run_or_a_snapshot_names_is_loaded(two_runs, tmp_path_factory, kind):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    path = trap(elsewhere, kind)
    forge(path)
    invoke("gate", "LAST", "--against", "@release", code=1)
    two_runs.rename(two_runs.with_name("gone.yaml"))
    invoke("gate", "LAST", "--against", "@release", code=1)
    invoke("export", "LAST~1", "a.json")
    invoke("export", "LAST", "b.json")
    for a, b in (("LAST~1", "LAST"), ("a.json", "b.json"), ("LAST", "a.json")):
        invoke("compare", a, b, code=4)
    invoke("import", "b.json", "--store", "other.db")
    for more in ((), ("--store", "other.db"), ("--judge-again", "--yes")):
        told = invoke("rescore", "LAST", *more, code=2)
        assert f"was made with suite words from {path}: name it with --suite {path}" in told
    invoke("report", "LAST", "--html", "page.html")
    assert not (elsewhere / "sprung").exists()


def test_no_metric_that_a_run_names_is_loaded(folder, tmp_path_factory):
    """The code of a suite's own metric is that of a suite found by its name, never of a recorded place."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    path = trap(elsewhere)
    file = write_suite(folder / "words", n=2)
    invoke("run", "words")
    declared = {"name": "own", "unit": "share", "better": "higher", "aggregate": "mean", "formula": "x", "about": ""}
    declared |= {"point": None, "code": "trap:answer", "source": "0"}
    forge(path)
    with closing(sqlite3.connect(".steelyard/steelyard.db")) as database, database:
        (suite,) = database.execute("SELECT suite FROM runs").fetchone()
        suite = json.dumps(json.loads(suite) | {"metrics": [declared]})
        database.execute("UPDATE runs SET suite = ?", (suite,))
        # What is stored of its figures would be read, and no metric looked for.
        database.execute("DELETE FROM summaries")
    file.rename(file.with_name("gone.yaml"))
    shown = json.loads(invoke("report", "LAST", "--json"))
    assert shown["figures"]["own"]["value"] is None
    assert "is not here, or has changed" in invoke("report", "LAST", "--explain", "own")
    invoke("history", "words")
    invoke("compare", "LAST", "LAST")
    assert not (elsewhere / "sprung").exists()


def test_the_function_that_a_recorded_judge_names_is_not_called():
    from steelyard.errors import UsageError
    from steelyard.loading.chosen_judge import as_recorded
    from steelyard.loading.load import load_suite
    from steelyard.suite.judge import Member

    suite = load_suite("tarot")
    gone = Member(name="gone", kind="python", function="os:system")
    described = suite.judge.model_copy(update={"members": (gone,)})
    with pytest.raises(UsageError, match="not in the suite any more"):
        as_recorded(suite.judge, described)


def test_a_suite_is_found_by_its_name_up_to_three_folders_below(folder):
    write_suite(folder / "a" / "b" / "c", n=2)
    invoke("run", "a/b/c")
    _, err = outputs("rescore", "LAST")
    # The line stands before anything of the suite runs.
    first = err.strip().splitlines()[0]
    assert first == "steelyard: suite words was found at a/b/c/suite.yaml and runs its code: system:answer"
    _, err = outputs("rescore", "LAST", "--suite", "a/b/c")
    assert "was found at" not in err
    (folder / "a").rename(folder / ".a")
    assert "name it with --suite" in invoke("rescore", "LAST", code=2)
    (folder / ".a").rename(folder / "env")
    (folder / "env" / "pyvenv.cfg").touch()
    assert "name it with --suite" in invoke("rescore", "LAST", code=2)
    (folder / "deep").mkdir()
    (folder / "env").rename(folder / "deep" / "a")
    (folder / "deep" / "a" / "pyvenv.cfg").unlink()
    assert "name it with --suite" in invoke("rescore", "LAST", code=2)


def test_of_several_suites_of_one_name_only_the_one_that_the_run_was_made_with_is_taken(folder):
    write_suite(folder / "one", n=2)
    invoke("run", "one")
    write_suite(folder / "two", n=2)
    assert "suite words was found at one/suite.yaml" in outputs("rescore", "LAST")[1]
    (folder / "one").rename(folder / "three")
    said = invoke("rescore", "LAST", code=2)
    assert "there are several: three/suite.yaml, two/suite.yaml; name it with --suite PATH" in said
    invoke("rescore", "LAST", "--suite", "three")


def test_a_suite_in_python_is_rescored_only_when_it_is_named(folder):
    (folder / "mine.py").write_text(
        "import steelyard\n"
        "suite = steelyard.Suite(name='mine', cases=[{'id': 'a', 'input': 1, 'expected': 'x'}],"
        " target={'python': lambda case: 'x'}, answer={'format': 'text'},"
        " score={'it': {'exact': {'expected': 'expected'}}})\n"
    )
    invoke("run", "mine.py")
    assert "name it with --suite" in invoke("rescore", "LAST", code=2)
    invoke("rescore", "LAST", "--suite", "mine.py")

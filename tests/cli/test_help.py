"""What `--help` and `--help-all` show."""

import re

import click

from parts.command import invoke
from parts.looped import for_every
from steelyard.cli import TASKS, commands, steelyard


def options_in(text):
    """The options that a help page has lines for, each as often as it stands there."""
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.M)


def options_of(name):
    command = steelyard.get_command(click.Context(steelyard), name)
    return [
        next(part for part in item.opts if part.startswith("--"))
        for item in command.get_params(click.Context(command))
        if isinstance(item, click.Option)
    ]


@for_every("name", ["run", "ci"])
def test_all_options_are_in_the_long_help_once_and_a_few_in_the_short_one(name):
    every, few = options_in(invoke(name, "--help-all")), options_in(invoke(name, "--help"))
    assert len(every) == len(set(every))
    assert {*every} == {*options_of(name)}
    assert {*few} < {*every}
    assert f"Show {len(every) - len(few)} more options" in " ".join(invoke(name, "--help").split())
    # An option that no group names would be listed with the help.
    assert options_in(invoke(name, "--help-all").partition("Help:")[2]) == ["--help", "--help-all"]


def test_the_help_of_run_fits_a_screen():
    assert len(invoke("run", "--help").splitlines()) <= 40


def test_every_command_is_listed_under_one_task():
    named = [name for names in TASKS.values() for name in names]
    assert sorted(named) == sorted(commands())
    assert "Other commands" not in invoke("--help")

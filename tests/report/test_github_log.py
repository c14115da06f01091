"""No text in a log or an output is a command, as the runner reads it."""

from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts.github_runner import OUTPUT, obeyed
from steelyard.cli.safe_output import SafeOutput
from steelyard.commands.github_job import GithubJob
from steelyard.report.format import spelled_out
from steelyard.report.render.github import (
    Annotation,
    AnnotationLevel,
    commands_off,
    harmless_json,
    harmless_log,
    output_lines,
)

DANGEROUS = st.lists(st.sampled_from([":", "::", "error", " ", "\t", "\r", "\n", "##[", "]", "::x::", "a"])).map(
    "".join
)


@given(DANGEROUS)
def test_no_line_of_a_harmless_log_is_obeyed(text):
    assert obeyed(harmless_log(text)) == []


def test_such_a_log_would_be_obeyed_as_it_is():
    assert [each.level for each in obeyed("a\r ::error::x\nb ##[warning]y")] == ["error", "warning"]


@pytest.mark.parametrize("text", ["plain", "a :: b", "C::method", "# [1]", "12:30::45"])
def test_plain_text_stays_as_it_is(text):
    assert harmless_log(text) == text


@given(DANGEROUS)
def test_harmless_json_says_the_same(text):
    said = harmless_json(json.dumps({"text": text}, indent=2))
    assert json.loads(said) == {"text": text}
    assert obeyed(said) == []


def test_nothing_is_obeyed_while_commands_are_off():
    off, on = commands_off()
    assert obeyed("\n".join([off, "::error::x", "::other::", "##[error]x", on])) == []
    assert [each.message for each in obeyed("\n".join([off, on, "::error::x"]))] == ["x"]
    assert commands_off()[0] != off


def test_commands_are_on_again_after_a_line_that_was_left_unfinished(capsys):
    with GithubJob({}).deaf():
        print("::error::x", end="", file=sys.stderr)
    print("::error::y", file=sys.stderr)
    assert [each.message for each in obeyed(capsys.readouterr().err)] == ["y"]


@given(st.lists(DANGEROUS | st.text("\x1b\x00\u202e\u2028a:#[\n", max_size=5)))
def test_nothing_that_a_command_prints_is_obeyed_in_whatever_pieces(pieces):
    log = io.StringIO()
    guarded = SafeOutput(log)
    for piece in pieces:
        guarded.write(piece)
    shown = log.getvalue()
    assert obeyed(shown) == []
    assert not {*shown} & {*"\x1b\x00\u202e\u2028\r"}
    # Nothing is lost: without the spaces that are put in, it is what was printed, spelled out.
    assert shown.replace(" ", "") == spelled_out("".join(pieces)).replace(" ", "")


@given(DANGEROUS, DANGEROUS)
def test_an_output_is_read_as_it_was_given(first, second):
    values = {"why": first.replace("\r", ""), "run": second.replace("\r", "")}
    assert {found["name"]: found["value"] for found in OUTPUT.finditer(output_lines(values))} == values


@given(DANGEROUS, DANGEROUS, DANGEROUS)
def test_an_annotation_is_one_command_whatever_it_says(title, message, file):
    # The runner takes no account of space at the end of a line.
    message += "."
    [shown] = obeyed(Annotation(AnnotationLevel.WARNING, title + "t", message, file.strip() + "f", 3).command)
    assert shown.level == "warning"
    assert shown.properties == {"file": file.strip() + "f", "line": "3", "title": " ".join((title + "t").split())}
    # Every kind of line end is one.
    assert shown.message == message.replace("\r\n", "\n").replace("\r", "\n")

"""Texts with holes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from steelyard.errors import SuiteError
from steelyard.suite.case import Case
from steelyard.suite.models import Variant
from steelyard.suite.templates import compile_template
from steelyard.targets.base import Request
from steelyard.targets.filling import text_filler

pytestmark = pytest.mark.boundary("jinja2")

CASE = Case(id="a", input={"text": "<b>&", "list": [1, "zwei"], "nothing": None}, expected={"x": 1})


def fill(text: str) -> str:
    return compile_template(text, where="prompt.md").render(CASE, {"tone": "dry"}, 2)


def test_case_input_variant_and_repeat_are_there():
    assert fill("{{ case.id }} {{ input.text }} {{ variant.tone }} {{ repeat }}") == "a <b>& dry 2"


def test_a_variant_object_does_as_well():
    template = compile_template("{{ variant.tone }}", where="p")
    assert template.render(CASE, Variant("dry", {"tone": "dry"})) == "dry"


def test_json_keeps_letters_and_null_is_nothing():
    assert fill("{{ input.list | json }}[{{ input.nothing }}]\n") == '[1, "zwei"][]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one\n{% if", "prompt.md:2: the template does not compile"),
        ("one\n{{ inptu.text }}", "prompt.md:2: the template uses 'inptu'"),
    ],
)
def test_a_broken_template_is_reported_with_file_and_line(text, message):
    with pytest.raises(SuiteError, match=r"prompt\.md:2") as raised:
        compile_template(text, where="prompt.md")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "{{ input.nope }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ case.__init__.__globals__ }}",
        "{{ 1 // 0 }}",
        "{{ input.list.append(3) }}",
        "{{ range(10 ** 9) | list }}",
    ],
)
def test_what_cannot_be_filled_names_the_file_and_the_case(text):
    with pytest.raises(SuiteError, match=r"prompt\.md: .*\(case a\)"):
        fill(text)
    assert CASE.input["list"] == [1, "zwei"]


@pytest.mark.parametrize(
    "text",
    [
        "100 % of {{ input.text }}, {{case.id}}: {{ variant.tone }}\n",
        "{{ input.nothing }}|{{ input.number }}|{{ input.list }}",
        "{{ input.items }}|{{ variant.keys }}",
        "one\r\n{{ input.text }}",
        "{{ input.text }} {% if repeat %}again{% endif %} {# why #}",
        "{{- input.text -}} x",
        "{{ input.text.upper() }} {{ input['text'] }} {{ input.deep.er }} }} %s",
    ],
)
def test_the_text_that_a_target_sends_is_what_the_template_gives(text):
    given = {
        "text": "%s {{ repeat }} <b>",
        "nothing": None,
        "number": 3,
        "list": [1],
        "items": "x",
        "deep": {"er": "y"},
    }
    case, variant = Case(id="a", input=given), Variant("dry", {"tone": "dry", "keys": "k"})
    rendered = compile_template(text, where="p").render(case, variant, 2)
    # A method of a group is written with its address, which is the same as long as the group is.
    assert text_filler(text, "p")(Request(case, variant, 2)) == rendered


def test_a_text_whose_holes_are_plain_paths_is_checked_without_jinja():
    check = "from steelyard.suite.mapping import compile_template as compile\ncompile({!r}, where='prompt.md')\n"
    texts = ["no hole", "{ {{ input.text }} and {{case.id}} }}"]
    script = "".join(map(check.format, texts)) + "import sys; sys.exit('jinja2' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    "text", ["{{{ input.text }}}", "{{ input.text }} {{", "{{ input.\u00b2 }}", "{{ case.expected.x }}", "{{ exp.x }}"]
)
def test_a_text_whose_holes_look_plain_and_are_not_is_refused(text):
    with pytest.raises(SuiteError):
        compile_template(text, where="prompt.md")

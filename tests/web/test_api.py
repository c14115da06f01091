"""The JSON API: it is what its description says, for whatever is asked."""

from __future__ import annotations

import re

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from parts.lengths import examples
from parts.served import InThisProcess, client_on
from steelyard.web.app import ACTIONS, RESOURCES, create_app
from steelyard.web.openapi import description
from steelyard.web.site import Settings, Site

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


def test_whatever_is_asked_is_answered_as_described(full):
    site = Site(full, InThisProcess(full), Settings())
    headers = {"host": "127.0.0.1", "x-steelyard-csrf": site.csrf}
    api = schemathesis.openapi.from_asgi("/api/openapi.json", create_app(site), headers=headers)
    operations = [result.ok() for result in api.get_all_operations()]
    assert len(operations) == len(RESOURCES) + len(ACTIONS)
    for operation in operations:

        @settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy())
        def ask(case):
            case.headers = {**(case.headers or {}), **headers}
            # A name of a run that is there, every other time: what is not there is soon answered.
            for name in ("run", "before", "after"):
                if name in case.path_parameters and len(str(case.path_parameters[name])) % 2:
                    case.path_parameters[name] = "rich-1"
            case.call_and_validate(checks=CHECKS, timeout=120)

        ask()


def test_every_page_has_its_json(full):
    with client_on(full) as client:
        described = client.get("/api/openapi.json").json()
    assert {f"/api{item.path}" for item in (*RESOURCES, *ACTIONS)} == set(described["paths"])


def test_all_parameters_and_answers_are_described():
    paths = description(RESOURCES, ACTIONS)["paths"]
    for path, methods in paths.items():
        for method in methods.values():
            named = {item["name"] for item in method["parameters"] if item["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            assert method["summary"]
            assert {"200", "400", "404"} <= set(method["responses"])

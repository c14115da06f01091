"""Who may come in, and what a browser may do with what it gets."""

from __future__ import annotations

import re

import pytest

from parts.served import client_on
from parts.stored import header
from steelyard.web.site import Role, Settings

TOKENS = {"own-1": Role.OWNER, "lab-1": Role.LABELLER, "see-1": Role.VIEWER}


@pytest.fixture
def guarded(store):
    store.create_run(header())
    with client_on(store, Settings(host="192.0.2.7", tokens=TOKENS)) as client:
        yield client


def test_a_foreign_host_name_is_refused(client):
    answer = client.get("/runs", headers={"host": "evil.example"})
    assert answer.status_code == 421
    assert "--allow-host" in answer.text


def test_an_allowed_host_name_is_answered(store):
    with client_on(store, Settings(hosts=("Evals.Example",))) as client:
        assert client.get("/runs", headers={"host": "evals.example:8400"}).status_code == 200


@pytest.mark.parametrize("path", ["/runs", "/api/runs", "/static/web.css", "/nowhere"])
def test_no_answer_may_run_a_script_of_others_or_be_framed(client, path):
    headers = client.get(path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"


def test_without_a_token_nothing_is_shown(guarded):
    assert guarded.get("/runs").headers["location"] == "/sign-in"
    assert guarded.get("/api/runs").status_code == 401
    assert guarded.get("/sign-in").status_code == 200
    assert guarded.get("/runs", headers={"cookie": "steelyard=own-"}).status_code == 303
    assert guarded.get("/api/runs", headers={"authorization": "Bearer own-12"}).status_code == 401


def test_signing_in_leads_on_to_what_was_asked_for_and_never_to_another_site(guarded):
    asked = guarded.get("/runs/demo-1/samples?passed=false&text=a%26b").headers["location"]
    form = guarded.get(asked).text
    assert 'action="/runs/demo-1/samples"' in form
    assert 'name="passed" value="false"' in form
    assert 'name="text" value="a&amp;b"' in form
    again = guarded.get("/runs/demo-1/samples?passed=false&token=wrong").headers["location"]
    assert "not one of this server" in guarded.get(again).text
    assert 'action="/runs/demo-1/samples"' in guarded.get(again).text
    for elsewhere in (
        "//other.example/x",
        "/\\other.example",
        "http://other.example",
        "javascript:alert(1)",
        "http://[",
    ):
        shown = guarded.get("/sign-in", params={"to": elsewhere})
        assert shown.status_code == 200
        assert re.search(r'action="/[\w%]', shown.text), elsewhere


def test_a_token_in_the_address_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(guarded):
    answer = guarded.get("/runs?suite=demo&token=see-1")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/runs?suite=demo"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert guarded.get("/runs").status_code == 200
    assert "set-cookie" not in guarded.get("/runs?token=wrong").headers


@pytest.mark.parametrize(("token", "role"), [("own-1", "owner"), ("lab-1", "labeller"), ("see-1", "viewer")])
def test_the_token_decides_the_role(guarded, token, role):
    assert guarded.get("/api/session", headers={"authorization": f"Bearer {token}"}).json()["role"] == role


def test_read_only_makes_everybody_a_viewer(store):
    with client_on(store, Settings(tokens=TOKENS, read_only=True)) as client:
        assert client.get("/api/session", headers={"authorization": "Bearer own-1"}).json()["role"] == "viewer"
    with client_on(store, Settings(read_only=True)) as client:
        assert client.get("/api/session").json()["role"] == "viewer"


def _a_write(client, **headers):
    from steelyard.web.app import ACTIONS

    path = next(item.path for item in ACTIONS).replace("{run}", "demo-1")
    return client.post(f"/api{path}", json={}, headers=headers)


def test_a_write_of_another_site_is_refused(client):
    assert _a_write(client, **{"x-steelyard-csrf": "guessed"}).status_code == 403
    assert _a_write(client, **{"x-steelyard-csrf": ""}).status_code == 403
    assert _a_write(client, **{"sec-fetch-site": "cross-site"}).status_code == 403
    assert _a_write(client).status_code in (400, 404)


def test_a_viewer_writes_nothing(guarded):
    answer = _a_write(guarded, authorization="Bearer see-1")
    assert answer.status_code == 403
    assert "viewer" in answer.text

"""Who may come in, and what a browser may do with what it gets."""

from __future__ import annotations

import json
import re

import pytest

from parts.command import invoke
from parts.served import client_on
from parts.stored import header
from steelyard.store.sql import open_store
from steelyard.web.app import ACTIONS
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


@pytest.mark.parametrize(
    "host", ["", "localhost/static/?", "localhost/sign-in#", "a@localhost", "localhost:x", "localhost.", "[localhost]"]
)
def test_what_is_no_host_name_is_refused(guarded, host):
    assert guarded.get("/api/runs", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["LOCALHOST:99", "[::1]:8400", "127.0.0.1:"])
def test_the_names_of_loopback_are_answered(client, host):
    assert client.get("/api/session", headers={"host": host}).status_code == 200


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


def test_an_answer_that_breaks_has_the_policy_and_tells_nothing(store, monkeypatch):
    def breaks(*_):
        raise RuntimeError("at /home/ann/secret")

    monkeypatch.setattr(store, "run", breaks)
    with client_on(store, raise_server_exceptions=False) as client:
        for path in ("/runs/x", "/api/runs/x"):
            answer = client.get(path)
            assert answer.status_code == 500
            assert "script-src 'self'" in answer.headers["content-security-policy"]
            assert "secret" not in answer.text


@pytest.mark.parametrize("path", ["/runs", "/api/runs", "//evil.example/x", "/static/../security.py", "/runs?a=%ff"])
def test_every_refusal_and_redirect_has_the_policy(guarded, path):
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS"):
        answer = guarded.request(method, f"http://127.0.0.1{path}")
        assert answer.status_code in (303, 401, 403, 404)
        assert "script-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ((), False),
        (("--allow-host", "localhost"), False),
        (("--allow-host", "a.example"), True),
        (("--host", "127.0.0.2"), True),
    ],
)
def test_whoever_may_come_from_elsewhere_needs_a_token(tmp_path, monkeypatch, options, needed):
    open_store(str(tmp_path / "runs.db")).close()
    monkeypatch.setattr("uvicorn.Server.run", lambda _, listening: listening[0].close())
    said = json.loads(invoke("serve", "--port", 0, "--store", tmp_path / "runs.db", "--json", *options))
    assert bool(said["tokens"]) is needed


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


@pytest.mark.parametrize("path", ["//evil.example/x", "///evil.example/x", "/%09/evil.example/x", "/%5cevil.example/x"])
def test_signing_in_leads_to_no_other_host(guarded, path):
    place = guarded.get(f"http://127.0.0.1{path}?token=see-1").headers["location"]
    assert place.removeprefix("/%09").removeprefix("/%5C").lstrip("/") == "evil.example/x"
    assert not place.startswith("//")


@pytest.mark.parametrize(("token", "role"), [("own-1", "owner"), ("lab-1", "labeller"), ("see-1", "viewer")])
def test_the_token_decides_the_role(guarded, token, role):
    assert guarded.get("/api/session", headers={"authorization": f"Bearer {token}"}).json()["role"] == role


def test_read_only_makes_everybody_a_viewer(store):
    with client_on(store, Settings(tokens=TOKENS, read_only=True)) as client:
        assert client.get("/api/session", headers={"authorization": "Bearer own-1"}).json()["role"] == "viewer"
    with client_on(store, Settings(read_only=True)) as client:
        assert client.get("/api/session").json()["role"] == "viewer"


def _a_write(client, **headers):
    path = next(item.path for item in ACTIONS).replace("{run}", "demo-1")
    return client.post(f"/api{path}", json={}, headers=headers)


def test_a_write_of_another_site_is_refused(client):
    assert _a_write(client, **{"x-steelyard-csrf": "guessed"}).status_code == 403
    assert _a_write(client, **{"x-steelyard-csrf": ""}).status_code == 403
    assert _a_write(client, **{"sec-fetch-site": "cross-site"}).status_code == 403
    assert _a_write(client).status_code in (400, 404)


def test_a_cookie_with_the_password_of_a_proxy_is_no_token(guarded):
    known = {"cookie": "steelyard=own-1", "authorization": "Basic YTpi"}
    assert _a_write(guarded, **known, **{"x-steelyard-csrf": ""}).status_code == 403
    assert _a_write(guarded, **known).status_code in (400, 404)


def test_a_body_without_a_length_is_limited_too(client):
    body = (b" " * 100_000 for _ in range(11))
    assert client.post("/api/desk/demo-1/next", content=body).status_code == 413


@pytest.mark.parametrize("token", ["see-1", "lab-1"])
@pytest.mark.parametrize("item", ACTIONS, ids=lambda item: item.path)
def test_nobody_writes_more_than_the_role_allows(guarded, item, token):
    path = f"/api{item.path.replace('{run}', 'demo-1')}"
    answer = guarded.post(path, json={}, headers={"authorization": f"Bearer {token}"})
    assert (answer.status_code == 403) == (TOKENS[token] < item.role)
    assert item.role >= Role.LABELLER

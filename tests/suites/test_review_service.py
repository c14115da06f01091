"""The built-in review service as a client sees it, healthy and with each of its faults switched on."""

import http.client
import json
import socket

import pytest

from parts.review_service import TOKEN, review_service
from steelyard.loading.load import load_suite
from steelyard.scoring.json_schema import SchemaValidator
from steelyard.suites.review import service
from steelyard.suites.review.switches import Switches, from_env, from_texts, seconds, shaken, waiting_time

pytestmark = pytest.mark.boundary("httptools")

FLAWED = {"content": "The crew will know the OOW, the CIC and the MCR.", "standards_set": "naval_v3"}


@pytest.fixture(scope="module")
def healthy():
    with review_service() as url:
        yield url


def called(url, method, path, *, headers=(), body=None, times=1):
    """Status and body of each of several calls over one connection."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    answers = []
    for _ in range(times):
        connection.request(method, path, body=body, headers=dict(headers))
        answer = connection.getresponse()
        answers.append((answer.status, answer.read().decode()))
    connection.close()
    return answers


def asked(url, body=None, *, token=TOKEN, path="/v1/review", uncapped=None):
    """Status and JSON body of one call."""
    data = uncapped if uncapped is not None else json.dumps(body if body is not None else FLAWED)
    ((status, text),) = called(url, "POST", path, headers={"Authorization": f"Bearer {token}"}, body=data)
    return status, json.loads(text)


def health(url):
    ((status, text),) = called(url, "GET", "/health")
    return status, json.loads(text)


def test_a_review_has_observations_meta_and_no_errors(healthy):
    status, answer = asked(healthy)
    assert status == 200
    assert list(answer) == ["observations", "meta", "errors"]
    refs = [one["standard_ref"] for one in answer["observations"]]
    assert refs == ["NAV-TR-3.1.1", "NAV-TR-3.3.1", "NAV-TR-3.3.1", "NAV-TR-3.3.1"]
    content = FLAWED["content"]
    assert [content[slice(*one["span"])] for one in answer["observations"]] == ["know", "OOW", "CIC", "MCR"]
    assert answer["errors"] == []
    assert answer["meta"]["usage"]["output_tokens"] > 0
    schema = load_suite("review").answer.json_schema
    assert SchemaValidator(schema).problems(answer) == []


@pytest.mark.parametrize(
    ("body", "uncapped", "token", "status", "code"),
    [
        (None, None, "other", 401, "UNAUTHORIZED"),
        (None, "{", TOKEN, 400, "INVALID_JSON"),
        (None, "[" * 100_000, TOKEN, 400, "INVALID_JSON"),
        ([1], None, TOKEN, 422, "INVALID_REQUEST"),
        ({"content": 7, "standards_set": "naval_v3"}, None, TOKEN, 422, "INVALID_REQUEST"),
        (FLAWED | {"strictness": "fierce"}, None, TOKEN, 422, "INVALID_REQUEST"),
        (FLAWED | {"content": " \n\t\u00a0"}, None, TOKEN, 422, "EMPTY_CONTENT"),
        (FLAWED | {"content": "x" * 300_000}, None, TOKEN, 413, "CONTENT_TOO_LARGE"),
        (FLAWED | {"standards_set": "naval_v2"}, None, TOKEN, 422, "STANDARDS_NOT_FOUND"),
    ],
)
def test_a_bad_request_is_refused_with_its_code(healthy, body, uncapped, token, status, code):
    got, answer = asked(healthy, body, uncapped=uncapped, token=token)
    assert (got, answer["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("sent", "first_lines"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", [b"HTTP/1.1 404 Not Found"]),
        (b"PUT /health HTTP/1.1\r\nContent-Length: 0\r\n\r\n", [b"HTTP/1.1 405 Method Not Allowed"]),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", [b"HTTP/1.1 404 Not Found"]),
        (b"nothing of the kind\r\n\r\n", [b"HTTP/1.1 400 Bad Request"]),
        (
            b"GET /health HTTP/1.1\r\n\r\nHEAD /health HTTP/1.1\r\n\r\n",  # without waiting for the first answer
            [b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK"],
        ),
        (
            b"POST /v1/review HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\n{}\r\n0\r\n\r\n",
            [b"HTTP/1.1 100 Continue", b"HTTP/1.1 401 Unauthorized"],
        ),
    ],
)
def test_a_connection_is_answered_as_http_says(healthy, sent, first_lines):
    host, _, port = healthy.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert [line for line in answer.replace(b"}HTTP", b"}\r\nHTTP").split(b"\r\n") if b"HTTP/" in line] == first_lines


def test_health_tells_when_the_model_is_not_connected_and_nothing_is_reviewed(healthy):
    assert health(healthy) == (200, {"status": "ok", "model_connected": True, "model_id": service.MODEL_ID})
    with review_service(Switches(not_ready_for=3600)) as url:
        status, told = health(url)
        assert (status, told["model_connected"]) == (503, False)
        assert (asked(url))[0] == 503


def test_a_masked_404_looks_like_an_empty_review_but_for_its_errors(healthy):
    status, answer = asked(healthy, path="/v1/review?masked_404=1")
    assert (status, answer["observations"]) == (200, [])
    assert [one["code"] for one in answer["errors"]] == ["MODEL_FAILURE"]
    status, answer = asked(healthy, path="/v1/review?masked_silent=1")
    assert (status, answer["observations"], answer["errors"]) == (200, [], [])
    assert answer["meta"]["usage"] == {"input_tokens": 0, "output_tokens": 0}


def test_a_crash_begins_after_so_many_reviews(healthy):
    with review_service(Switches(crash_after=2)) as url:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answers = called(url, "POST", "/v1/review", headers=headers, body=json.dumps(FLAWED), times=4)
    assert [status for status, _ in answers] == [200, 200, 500, 500]


def test_an_unstable_service_repeats_itself_from_the_same_seed():
    def series(seed):
        with review_service(Switches(unstable=0.5, seed=seed)) as url:
            return [(asked(url))[1]["observations"] for _ in range(6)]

    first, again, other = series(1), series(1), series(2)
    assert first == again
    assert first != other
    assert len({json.dumps(one) for one in first}) > 1


def test_what_shakes_an_answer_loses_moves_and_rates_again():
    observations = [{"span": [0, 4], "severity": "warning", "n": n} for n in range(400)]
    content = "x" * 50
    changed = shaken(observations, Switches(unstable=0.3), content, call=1)
    before = {one["n"]: one for one in observations}
    rated = [one for one in changed if one["severity"] != before[one["n"]]["severity"]]
    moved = [one for one in changed if one["span"] != before[one["n"]]["span"]]
    lost = len(observations) - len(changed)
    # 120 of 400 are expected to change, 40 in each way; six standard deviations (6 * 9.2) do not reach 120 or 0.
    assert 65 <= len(rated) + len(moved) + lost <= 175
    assert min(len(rated), len(moved), lost) > 0
    assert shaken(observations, Switches(unstable=0.0), content, call=1) == observations
    assert shaken(observations, Switches(unstable=0.3), content, call=2) != changed


def test_switches_are_read_from_texts_and_the_environment():
    assert (seconds("20ms"), seconds("1.5s"), seconds("2")) == (0.02, 1.5, 2.0)
    assert from_env({"REVIEW_LATENCY": "20ms", "REVIEW_MASKED_404": "1", "REVIEW_DIE_AFTER": "3"}) == Switches(
        latency=0.02, masked_404=True, die_after=3
    )
    assert waiting_time(Switches(latency=0.02)) == 0.02
    # The baseline that misled its owners came after 14 ms.
    assert waiting_time(Switches(masked_silent=True)) == 0.014
    for name, text in (("latency", "soon"), ("unstable", "2"), ("crash_after", "-1"), ("unstable", "nan")):
        with pytest.raises(ValueError, match=name):
            from_texts(Switches(), {name: text})


def test_a_switch_that_cannot_be_read_is_a_bad_request(healthy):
    status, answer = asked(healthy, path="/v1/review?latency=soon")
    assert (status, answer["error"]["code"]) == (400, "INVALID_SWITCH")


def test_the_command_line_says_what_is_wrong(capsys):
    with pytest.raises(SystemExit) as ended:
        service.main(["--unstable", "7"])
    assert ended.value.code == 2
    assert "unstable: '7' is not from 0 to 1" in capsys.readouterr().err


def test_a_port_that_is_taken_is_reported(healthy, capsys):
    port = healthy.rpartition(":")[2]
    assert service.main(["--port", port]) == 1
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err

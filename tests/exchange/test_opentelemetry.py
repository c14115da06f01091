"""OpenTelemetry: spans made and sent by its SDK are cases with answers; its own protocol reads our events."""

import base64
import json
from importlib import import_module

import pytest
from google.protobuf import json_format
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import Status, StatusCode

from parts.command import invoke
from parts.counts import outcomes_in
from parts.loopback import Behaviour, Loopback, free_port

GEN_AI = import_module("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
IDS = ("traceId", "spanId", "parentSpanId")


def converted(data, convert):
    """Protobuf's JSON has ids in base64, that of OTLP in hex."""
    if isinstance(data, dict):
        return {key: convert(item) if key in IDS else converted(item, convert) for key, item in data.items()}
    return [converted(item, convert) for item in data] if isinstance(data, list) else data


def sent_by_the_sdk(make):
    """What the SDK's exporter sends of the spans that `make` makes, as a collector writes it into a file."""
    with Loopback() as server:
        server.on("/v1/traces", Behaviour())
        provider = TracerProvider(resource=Resource({"service.name": "shop"}))
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{server.base_url}/v1/traces")))
        make(provider.get_tracer("test"))
        provider.shutdown()
        bodies = [request.body for request in server.requests]
    lines = []
    for body in bodies:
        request = json_format.MessageToDict(ExportTraceServiceRequest.FromString(body))
        lines.append(converted(request, lambda text: base64.b64decode(text).hex()))
    return lines


def parts(text):
    return json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])


def spans(tracer):
    usage = {GEN_AI.GEN_AI_USAGE_INPUT_TOKENS: 11, GEN_AI.GEN_AI_USAGE_OUTPUT_TOKENS: 3}
    about = {GEN_AI.GEN_AI_OPERATION_NAME: "chat", GEN_AI.GEN_AI_RESPONSE_MODEL: "small"} | usage
    with tracer.start_as_current_span("checkout"):
        with tracer.start_as_current_span("chat small", attributes=about) as span:
            span.set_attribute(GEN_AI.GEN_AI_INPUT_MESSAGES, parts("What is the capital of France?"))
            span.set_attribute(GEN_AI.GEN_AI_OUTPUT_MESSAGES, parts("Paris"))
            span.set_attribute("steelyard.expected", "Paris")
        with tracer.start_as_current_span("chat small", attributes=about) as span:
            span.add_event("gen_ai.system.message", {"content": "Be brief."})
            span.add_event("gen_ai.user.message", {"content": "What is the capital of Japan?"})
            span.add_event("gen_ai.choice", {"index": 0, "message": json.dumps({"content": "Kyoto"})})
            span.set_attribute("steelyard.expected", "Tokyo")
        with tracer.start_as_current_span("chat small", attributes=about) as span:
            span.add_event("gen_ai.content.prompt", {"gen_ai.prompt": "What is the capital of Peru?"})
            span.add_event("gen_ai.content.completion", {"gen_ai.completion": "Lima"})
            span.set_attribute("steelyard.expected", "Lima")
    with tracer.start_as_current_span("chat small", attributes=about) as span:
        span.set_attribute(GEN_AI.GEN_AI_INPUT_MESSAGES, parts("What is the capital of Chad?"))
        # What came before the error is no answer.
        span.set_attribute(GEN_AI.GEN_AI_OUTPUT_MESSAGES, parts("N'Djamena"))
        span.set_attribute("steelyard.expected", "N'Djamena")
        span.set_attribute("error.type", "500")
        span.set_status(Status(StatusCode.ERROR, "the model is overloaded"))


SUITE = """suite: traced
cases: {otlp: traces.json}
score: {answer: {exact: {expected: expected}}}
limits: {max_inconclusive: 50 %}
pass: score >= 100 %
"""


@pytest.fixture
def traced(tmp_path):
    """A run of a suite whose cases and answers are the spans of a trace; its folder, and the events it came from."""
    lines = sent_by_the_sdk(spans)
    (tmp_path / "traces.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "suite.yaml").write_text(SUITE)
    invoke("run", tmp_path, "--store", tmp_path / "runs.db")
    return tmp_path


def plain(attributes):
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


def read_back(data):
    """The log records, read by OpenTelemetry's own messages, which refuse a field that they do not have."""
    data = converted(data, lambda text: base64.b64encode(bytes.fromhex(text)).decode())
    request = json_format.ParseDict(data, ExportLogsServiceRequest())
    return [record for scope in request.resource_logs[0].scope_logs for record in scope.log_records]


def test_spans_of_every_form_are_cases_with_recorded_answers(traced):
    report = json.loads(invoke("report", "LAST", "--store", traced / "runs.db", "--json"))
    # Paris and Lima of the three that were answered.
    assert report["figures"]["pass_rate"]["value"] == 2 / 3
    assert outcomes_in(report) == {"scored": 3, "target_failed": 1}
    assert report["figures"]["tokens.in"]["value"] == 33
    assert report["figures"]["failures.500"]["value"] == 1
    snapshot = traced / "run.json"
    invoke("export", "LAST", snapshot, "--store", traced / "runs.db")
    cases = json.loads(snapshot.read_text())["cases"]
    assert sorted(json.dumps(case["input"], sort_keys=True) for case in cases) == [
        '{"messages": [{"content": "Be brief.", "role": "system"}, '
        '{"content": "What is the capital of Japan?", "role": "user"}]}',
        '{"text": "What is the capital of Chad?"}',
        '{"text": "What is the capital of France?"}',
        '{"text": "What is the capital of Peru?"}',
    ]
    # Three spans of one trace are one unit of evidence.
    assert len({case["cluster"] for case in cases}) == 2


def test_a_span_without_output_is_a_failed_call_and_not_left_out(tmp_path):
    def two(tracer):
        for answered in (True, False):
            with tracer.start_as_current_span("chat", attributes={"steelyard.expected": "Paris"}) as span:
                span.set_attribute(GEN_AI.GEN_AI_INPUT_MESSAGES, parts("What is the capital of France?"))
                if answered:
                    span.set_attribute(GEN_AI.GEN_AI_OUTPUT_MESSAGES, parts("Paris"))

    (tmp_path / "traces.json").write_text("\n".join(map(json.dumps, sent_by_the_sdk(two))))
    (tmp_path / "suite.yaml").write_text(SUITE)
    report = json.loads(invoke("run", tmp_path, "--store", tmp_path / "runs.db", "--json"))
    assert outcomes_in(report) == {"scored": 1, "target_failed": 1}
    assert report["figures"]["failures.no_output"]["value"] == 1


def test_scores_are_events_of_the_semantic_conventions(traced):
    invoke("export", "LAST", "--otlp", traced / "events.json", "--store", traced / "runs.db")
    records = read_back(json.loads((traced / "events.json").read_text()))
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    # A score of the whole for each of four samples, and one of the component where there was an answer.
    assert len(records) == 7
    facts = [plain(record.attributes) for record in records]
    wholes = [fact for fact in facts if fact[GEN_AI.GEN_AI_EVALUATION_NAME] == "score"]
    labels = sorted((fact.get(GEN_AI.GEN_AI_EVALUATION_SCORE_LABEL, ""), fact.get("error.type")) for fact in wholes)
    assert labels == [("", "500"), ("fail", None), ("pass", None), ("pass", None)]
    failed = next(fact for fact in wholes if "error.type" in fact)
    assert GEN_AI.GEN_AI_EVALUATION_SCORE_VALUE not in failed
    wrong = next(fact for fact in facts if fact.get(GEN_AI.GEN_AI_EVALUATION_SCORE_VALUE) == 0 and fact not in wholes)
    assert wrong[GEN_AI.GEN_AI_EVALUATION_NAME] == "answer"
    assert wrong[GEN_AI.GEN_AI_EVALUATION_EXPLANATION] == 'ANSWER: expected "Tokyo", got "Kyoto"'
    assert (wrong["steelyard.evaluator.name"], wrong["steelyard.evaluator.version"]) == ("exact", "1")
    assert wrong["steelyard.signature"].startswith("traced | cases ")
    assert wrong["gen_ai.response.model"] == "small"
    # The event belongs to the span that it scores.
    assert all(record.span_id.hex() == fact["steelyard.case.id"] for record, fact in zip(records, facts, strict=True))
    assert all(len(record.trace_id) == 16 for record in records)


def test_a_sample_that_nobody_can_tell_has_no_score_not_even_of_a_part(traced):
    """Kyoto is wrong by the first scorer; the second asks a service that is not there."""
    model = {"base_url": f"http://127.0.0.1:{free_port()}/v1", "model": "m"}
    scorers = {"exact": {"exact": {"expected": "expected"}}}
    scorers["alike"] = {"similarity": {"expected": "expected", "embeddings": model}}
    suite = SUITE.replace("{answer: {exact: {expected: expected}}}", json.dumps(scorers)).replace(
        "50 %", "50 %, retries: 0"
    )
    (traced / "suite.yaml").write_text(suite)
    invoke("run", traced, "--store", traced / "runs.db")
    invoke("export", "LAST", "--otlp", traced / "events.json", "--store", traced / "runs.db")
    facts = [plain(record.attributes) for record in read_back(json.loads((traced / "events.json").read_text()))]
    (undecided,) = [fact for fact in facts if fact["steelyard.outcome"] == "judge_failed"]
    assert undecided["error.type"] == "judge_failed"
    assert GEN_AI.GEN_AI_EVALUATION_SCORE_VALUE not in undecided


def test_a_collector_gets_them_with_the_headers_of_the_environment(traced, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20planted-secret-1")
    with Loopback() as server:
        server.on("/v1/logs", Behaviour(status=503, headers={"Retry-After": "0"}), Behaviour(body=b"{}"))
        message = invoke("export", "LAST", "--otlp", f"{server.base_url}?key=planted", "--store", traced / "runs.db")
        requests = server.requests
    assert "7 events of" in message
    assert (requests[-1].query, "planted" in message) == ({"key": "planted"}, False)
    for form in ("--csv", "--otlp"):
        message = invoke("export", "LAST", form, "-", "--store", traced / "runs.db", code=2)
        assert "runs are written to files, not to standard output" in message
    assert len(read_back(requests[-1].json)) == 7
    assert requests[-1].headers["authorization"] == "Bearer planted-secret-1"
    assert requests[-1].headers["content-type"] == "application/json"
    assert len(requests) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            Behaviour(status=401, body=b"bad key planted-secret-2"),
            "answered 401 bad key [redacted]; 0 events were sent",
        ),
        (Behaviour(body=b"{}", content_length=99, cut_after=2), "cannot be reached"),
        (Behaviour(status=302, headers={"Location": "/elsewhere"}), "answered 302"),
        (
            Behaviour(body=b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}'),
            "refused 2 (too old) of 7 events",
        ),
    ],
)
def test_a_collector_that_refuses_is_an_error_without_secrets(traced, monkeypatch, answer, message):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=planted-secret-2")
    with Loopback() as server:
        server.on("/v1/logs", answer)
        text = invoke(
            "export",
            "LAST",
            "--otlp",
            f"{server.base_url}/v1/logs?key=planted-secret-3",
            "--store",
            traced / "runs.db",
            code=2,
        )
        assert {request.path for request in server.requests} == {"/v1/logs"}
    assert message in text
    assert "planted-secret" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "traces.json:1: not readable as JSON"),
        ('{"resourceSpans": []}', "there are no gen_ai spans in it"),
        ('{"resourceSpans": 5}', "not readable as JSON"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [7]}]}]}', "not traces in the JSON form of OTLP"),
        (
            '{"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "aa", "attributes":'
            ' [{"key": "gen_ai.system", "value": {"stringValue": "openai"}}]}]}]}]}',
            "none of its 1 gen_ai spans holds what was asked and answered: let your instrumentation capture content",
        ),
    ],
)
def test_traces_that_cannot_be_used_say_why(tmp_path, text, message):
    (tmp_path / "traces.json").write_text(text)
    (tmp_path / "suite.yaml").write_text(SUITE)
    assert message in invoke("run", tmp_path, "--store", tmp_path / "runs.db", code=2)


def test_events_that_came_as_log_records_belong_to_their_span(tmp_path):
    span = {
        "traceId": "ab" * 16,
        "spanId": "cd" * 8,
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "1500000000",
    }
    span["attributes"] = [
        {"key": "gen_ai.system", "value": {"stringValue": "openai"}},
        {"key": "steelyard.expected", "value": {"stringValue": "4"}},
    ]

    def record(name, content):
        body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": content}}]}}
        return {"spanId": span["spanId"], "eventName": name, "body": body}

    logs = [record("gen_ai.user.message", "2 + 2?"), record("gen_ai.choice", "4")]
    (tmp_path / "traces.json").write_text(
        json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]})
        + "\n"
        + json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    )
    (tmp_path / "suite.yaml").write_text(SUITE)
    invoke("run", tmp_path, "--store", tmp_path / "runs.db")
    report = json.loads(invoke("report", "LAST", "--store", tmp_path / "runs.db", "--json"))
    assert report["figures"]["pass_rate"]["value"] == 1
    assert report["figures"]["latency.p50"]["value"] == 0.5

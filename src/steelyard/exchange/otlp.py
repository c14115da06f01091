"""A run's scores as OpenTelemetry events, `gen_ai.evaluation.result` in OTLP JSON, to a file or a collector."""

from __future__ import annotations

import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from steelyard import __version__
from steelyard.errors import UsageError
from steelyard.records import RunHeader, Sample
from steelyard.redact import learn_secrets, redact_known
from steelyard.store.base import Store
from steelyard.store.snapshot import whole_file
from steelyard.suite.case import Case

EVENT = "gen_ai.evaluation.result"
WHOLE = "score"
"""The name of the score of all components together."""
_INFO = 9
_BATCH, _SECONDS, _TRIES = 500, 10, 4
_AGAIN = (429, 502, 503, 504)
"""What a collector answers that may be asked again, as OTLP says."""
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
_TRACE, _SPAN = re.compile("[0-9a-f]{32}"), re.compile("[0-9a-f]{16}")


def is_url(destination: str) -> bool:
    """Whether the events are to be sent to a collector."""
    return destination.startswith(("http://", "https://"))


def export_events(store: Store, header: RunHeader, destination: str) -> int:
    """Write the events of a run to a file, or send them to a collector, and give how many there are."""
    events = _events(header, store.samples(header.id))
    return _sent(events, destination) if is_url(destination) else _written(events, Path(destination))


def _written(events: Iterator[dict[str, Any]], path: Path) -> int:
    begin, end = json.dumps(_request([])).split("[]")
    n = 0
    with whole_file(path) as file:
        file.write(f"{begin}[")
        for n, event in enumerate(events, 1):
            file.write(f"{',' if n > 1 else ''}\n{json.dumps(event)}")
        file.write(f"\n]{end}\n")
    return n


def _request(events: list[dict[str, Any]]) -> dict[str, Any]:
    scope = {"scope": {"name": "steelyard", "version": __version__}, "logRecords": events}
    resource = {"attributes": _attributes({"service.name": "steelyard", "service.version": __version__})}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}


def _events(header: RunHeader, samples: Iterator[tuple[Sample, Case]]) -> Iterator[dict[str, Any]]:
    suite, imported = header.description, header.options.imported
    scorers = {component.name: component for component in suite.components}
    run = {
        "steelyard.run.id": header.id,
        "steelyard.suite.name": header.suite_name,
        "steelyard.signature": header.signature.text,
        "steelyard.scored_by": (imported.tool if imported is not None else "") or f"steelyard {header.version}",
    }
    for sample, case in samples:
        place = run | {
            "steelyard.case.id": sample.case_id,
            "steelyard.variant": sample.variant or None,
            "steelyard.repeat": sample.repeat,
            "steelyard.outcome": sample.outcome.value,
            "gen_ai.response.model": sample.call_result.model,
        }
        failure, label = sample.call_result.failure, sample.band
        if sample.passed is not None:
            label = "pass" if sample.passed else "fail"
        whole = {
            "gen_ai.evaluation.score.value": sample.score,
            "gen_ai.evaluation.score.label": label,
            "gen_ai.evaluation.explanation": None if failure is None else f"{failure.kind}: {failure.message}",
            "error.type": None if sample.outcome.conclusive else failure.kind if failure else sample.outcome.value,
            "steelyard.evaluator.name": header.suite_name,
            "steelyard.evaluator.version": suite.version or None,
        }
        yield _event(header, sample, case, {"gen_ai.evaluation.name": WHOLE} | place | whole)
        for score in sample.scores if sample.outcome.conclusive else ():
            if score.value is not None:
                scorer = scorers.get(score.name)
                part = {
                    "gen_ai.evaluation.score.value": float(score.value),
                    "gen_ai.evaluation.explanation": _explanation(sample, score.name, score.note),
                    "steelyard.evaluator.name": None if scorer is None else scorer.data()["scorer"],
                    "steelyard.evaluator.version": None if scorer is None else str(scorer.version),
                }
                yield _event(header, sample, case, {"gen_ai.evaluation.name": score.name} | place | part)


def _explanation(sample: Sample, component: str, note: str) -> str | None:
    """What the scorer says, or the errors that it found."""
    errors = [
        f"{error.code}: expected {json.dumps(error.expected)}, got {json.dumps(error.got)}"
        for error in sample.findings
        if error.component == component
    ]
    return note or "; ".join(errors) or None


def _event(header: RunHeader, sample: Sample, case: Case, attributes: dict[str, Any]) -> dict[str, Any]:
    moment = sample.call_result.started_at + sample.call_result.latency or header.created_at
    record = {
        "timeUnixNano": str(int(moment * 1e9)),
        "observedTimeUnixNano": str(int((header.ended_at or header.created_at) * 1e9)),
        "severityNumber": _INFO,
        "eventName": EVENT,
        "attributes": _attributes(attributes),
    }
    # A case of a trace is named after its span: the event belongs to it.
    if _SPAN.fullmatch(case.id) and _TRACE.fullmatch(case.cluster or ""):
        record |= {"traceId": case.cluster, "spanId": case.id}
    return record


def _attributes(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes in the form of OTLP; what is not known is left out."""
    return [{"key": key, "value": _value(value)} for key, value in given.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": redact_known(str(value))}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the headers, which hold keys, to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _sent(events: Iterator[dict[str, Any]], url: str) -> int:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"--otlp: no address: {error}") from None
    if parts.username or parts.password:
        raise UsageError(f"--otlp: put no password into the address; {_HEADERS} takes headers: authorization=...")
    parts = parts._replace(path="/v1/logs") if parts.path in ("", "/") else parts
    place = urlunsplit(parts._replace(query=""))  # what messages say: a query may hold a key
    headers = {"Content-Type": "application/json"}
    for pair in os.environ.get(_HEADERS, "").split(","):
        name, equals, value = pair.partition("=")
        if equals:
            headers[unquote(name.strip())] = unquote(value.strip())
            learn_secrets([unquote(value.strip())])
    opener = urllib.request.build_opener(_NoRedirects)
    n = 0
    while batch := list(islice(events, _BATCH)):
        body = json.dumps(_request(batch)).encode()
        request = urllib.request.Request(urlunsplit(parts), body, headers)  # noqa: S310 - http or https
        rejected = _posted(opener, request, place, n)
        if rejected:
            raise UsageError(f"{place} refused {rejected} of {len(batch)} events; {n:,} were sent before these")
        n += len(batch)
    return n


def _posted(opener: urllib.request.OpenerDirector, request: urllib.request.Request, place: str, n: int) -> str:
    """How many events the collector refused, and why; "" for none."""
    for attempt in range(_TRIES):
        try:
            with opener.open(request, timeout=_SECONDS) as response:
                partial = (json.loads(response.read() or b"{}") or {}).get("partialSuccess") or {}
            rejected = int(partial.get("rejectedLogRecords") or 0)
            return f"{rejected} ({redact_known(str(partial.get('errorMessage') or ''))})" if rejected else ""
        except urllib.error.HTTPError as error:
            if error.code in _AGAIN and attempt < _TRIES - 1:
                wait = error.headers.get("Retry-After", "")
                time.sleep(min(float(wait) if wait.isdigit() else 0.5 * 2**attempt, _SECONDS))
                continue
            reason = redact_known(error.read(200).decode("utf-8", "replace")).strip()
            problem = f"{place} answered {error.code} {reason}".strip()
        except ValueError:
            return ""
        except (OSError, http.client.HTTPException) as error:
            problem = f"{place} cannot be reached: {getattr(error, 'reason', error)}"
        raise UsageError(f"{problem}; {n:,} events were sent before that")
    return ""

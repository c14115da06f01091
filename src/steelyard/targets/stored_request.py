"""The request of a stored sample: made again of the settings that its run stored and of its case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.records import RunHeader, Sample
from steelyard.redact import looks_secret, redact_known
from steelyard.suite.case import Case
from steelyard.suite.judge import MODELS
from steelyard.suite.models import TargetSpec, Variant
from steelyard.suite.values import TextFile
from steelyard.targets.base import Request, TargetContext, open_target
from steelyard.targets.settings import TargetSettings, text_of

_WITH_REQUESTS = (*MODELS, "command", "http")
_NOT_SENT = {"token", "price", "usage", "max_bytes", "connect_timeout", "trust_env", "start", "ready"}
_STORED = ("settings", "more", "variants")
_HIDDEN = "[secret]"
_NUMBER = re.compile(r"[-+]?[\d.,]+")
"""Of an option such as `--max-tokens`, whose name only looks like a secret's."""


def asked_by(spec: TargetSpec, variants: Iterable[Variant], target_context: TargetContext) -> dict[str, Any] | None:
    """A target as plain data to store: settings, with the texts of their files, what else can change an answer, and
    variants. Requests can be made again by it, and targets of two runs compared.

    Values from the environment stand by name, what looks like a secret is left out. None where settings are no model.
    """
    settings = spec.settings
    if not isinstance(settings, TargetSettings):
        return None
    stored = settings.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=_NOT_SENT)
    more = settings.model_dump(mode="json", exclude_defaults=True, include={"usage"})
    for name in type(settings).model_fields:
        if isinstance(value := getattr(settings, name), TextFile):
            stored[name] = text_of(value, target_context, f"target {spec.kind}, {name}")[0]
    if (start := getattr(settings, "start", None)) is not None:
        stored["base_url"] = getattr(settings, "base", None)
        more["start"] = start.identity()
    by_name = {variant.name: variant.values for variant in variants}
    return {name: _without_secrets(part) for name, part in zip(_STORED, (stored, more, by_name), strict=True)}


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _HIDDEN if isinstance(item, str) and looks_secret(name) else _without_secrets(item)
            for name, item in value.items()
        }
    if isinstance(value, str):
        return redact_known(value)
    return hidden_arguments([_without_secrets(item) for item in value]) if isinstance(value, list) else value


def hidden_arguments(words: Iterable[Any]) -> list[Any]:
    """The arguments of a command without the values of options that look like secrets, such as `--api-key`."""
    results: list[Any] = []
    option = False
    for word in words:
        name, sign, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        secret = name.startswith("-") and looks_secret(name)
        if option and isinstance(word, str) and not _NUMBER.fullmatch(word):
            results.append(_HIDDEN)
        else:
            results.append(f"{name}={_HIDDEN}" if secret and sign and not _NUMBER.fullmatch(value) else word)
        option = secret and not sign
    return results


class NamedVariables(dict[str, str]):
    """An environment in which every variable stands for itself, and that has no proxies."""

    def get(self, name: str, default: Any = None) -> Any:
        return default if name.lower().endswith("_proxy") else f"${name}"


def request_again(header: RunHeader, sample: Sample, case: Case) -> Any:
    """A sample's request as it was sent, as plain data, variables by name; None when it cannot be known."""
    kind, stored = header.target.kind, header.options.asked_by
    folder, schema = Path(header.suite_path).parent, header.description.answer.schema_data
    ask = Request(case.without_truth(), Variant(sample.variant, {}), sample.repeat, case.expected, case.private)
    try:
        return requests_by(kind, stored, folder, schema)(ask)
    except SteelyardError:
        return None


def requests_by(
    kind: str, stored: Mapping[str, Any] | None, folder: Path, schema: dict[str, Any] | None
) -> Callable[[Request], Any]:
    """From a call to its request by what `asked_by` gave, as plain data; nothing is sent, and variables stand by name.

    TargetFailure when it cannot be made; it is None where nothing was stored.
    """
    if stored is None or kind not in _WITH_REQUESTS:
        return lambda _: None
    target = open_target(TargetSpec(kind, dict(stored["settings"])), TargetContext(folder, schema, NamedVariables()))
    variants = stored["variants"]

    def request(ask: Request) -> Any:
        variant = Variant(ask.variant.name, dict(variants.get(ask.variant.name, {})))
        return target.request_key(replace(ask, variant=variant))

    return request

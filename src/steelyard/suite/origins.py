"""Where answers and judgments come from: whether two models, or two addresses, are one however they are written."""

from __future__ import annotations

import ipaddress
import posixpath
import re
import socket
from collections.abc import Iterable, Iterator
from itertools import combinations
from urllib.parse import urlsplit

from steelyard.suite.judge import JudgeModel

_REVISION = re.compile(
    r"(?::latest|-latest|-preview|-exp|-v\d+(?:\.\d+)?(?::\d+)?|[-@](?:20\d\d-\d\d-\d\d|20\d{6}|\d{4}|\d{3}|\d\d-\d\d|default))$"
)
"""A tag, date or revision of one model, at the end of its name."""
_SIZE = re.compile(
    r"[-_](?:\d+(?:\.\d+)?[bm]|\d+x\d+b|\d+k|mini|nano|micro|tiny|small|medium|large|xl|lite|turbo|pro|max|ultra|plus|flash|high|low"
    r"|instruct|chat|it|base|hf|gguf|awq|gptq|mlx|fp\d+|bf16|int\d|\d+bit|q\d\w*|thinking|reasoning|versatile|instant)$"
)
_VENDOR = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic|meta|mistral|amazon|cohere|deepseek|openai|qwen|google|ai21)\.")
"""The region and the vendor of a model on a platform, as in us.anthropic.claude-3-haiku."""
_PROVIDER = re.compile(
    r"^(?:ft|openai|azure|azureopenai|anthropic|google|vertex|bedrock|groq|ollama|openrouter|together|huggingface|xai)"
    r":(?:chat:|messages:|completion:|responses:)?"
)
"""Who serves a model, or that it is a fine-tuned one, as in openai:chat:gpt-4o."""


def model_alias(name: str) -> str:
    """The name of a model without provider, tag and date: gpt-4o for openai/gpt-4o-2024-08-06, m for m:latest."""
    name = _VENDOR.sub("", _PROVIDER.sub("", name.strip().lower().rsplit("/", 1)[-1]))
    while (shorter := _REVISION.sub("", name)) != name and shorter:
        name = shorter
    return name


def model_family(name: str) -> str:
    """The alias without size and variant: qwen2.5 for qwen2.5:7b-instruct, gpt-4o for gpt-4o-mini."""
    name = model_alias(name).partition(":")[0]
    while (shorter := _REVISION.sub("", _SIZE.sub("", name))) != name and shorter:
        name = shorter
    return name


def _spelling(family: str) -> str:
    """A family in one spelling: llama3.1 for meta-llama-3.1 and llama3-1."""
    dotted = re.sub(r"(?<=\d)-(?=\d)", ".", family.removeprefix("meta-"))
    return re.sub(r"(?<=[a-z])-(?=\d)", "", dotted)


def shared_origins(models: Iterable[str], address: str, judge: JudgeModel) -> Iterator[str]:
    """What a judge shares with the system under test, and the members of a panel with each other, one sentence each.

    `models` are the names that the system's model has, `address` is where it is called; both are empty for a system
    that is no model.
    """
    members = [member for member in judge.members if member.is_model]
    families = {_spelling(model_family(model)) for model in models if model}
    for member in members:
        family = model_family(member.model or "")
        if family and _spelling(family) in families:
            yield (
                f"judge {member.label} and the system under test are of one model family ({family}): a model tends to"
                " prefer its own answers"
            )
        elif address and member.address and same_address(member.address, address):
            yield f"judge {member.label} and the system under test share the address {address}"
    for one, other in combinations(members, 2):
        family = model_family(one.model or "")
        both = f"judges {one.label} and {other.label} of the panel"
        if family and _spelling(family) == _spelling(model_family(other.model or "")):
            yield f"{both} are of one model family ({family}): their votes are not independent"
        elif one.address and other.address and same_address(one.address, other.address):
            yield f"{both} share the address {one.address}"


def same_address(item: str, other: str) -> bool:
    """Whether two addresses lead to the same service, however they are written."""
    return _address(item) == _address(other)


def _address(url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port and path, each in one spelling."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return url, "", 0, ""
    scheme = parts.scheme.lower()
    # normpath keeps two slashes at the beginning, as POSIX wants it.
    path = posixpath.normpath(f"/{parts.path.lstrip('/')}")
    return scheme, _host(parts.hostname or ""), port or (443 if scheme == "https" else 80), path.rstrip("/")


def _host(name: str) -> str:
    """A host in one spelling; every way to write this machine is `localhost`. Nobody is asked for an address."""
    name = name.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return "localhost"
    try:
        # inet_aton reads what a system's resolver reads: 127.1, 2130706433, 0x7f.1.
        number: ipaddress.IPv4Address | ipaddress.IPv6Address = (
            ipaddress.IPv6Address(name) if ":" in name else ipaddress.IPv4Address(socket.inet_aton(name))
        )
    except (OSError, ValueError):
        return name
    number = getattr(number, "ipv4_mapped", None) or number
    return "localhost" if number.is_loopback or number.is_unspecified else str(number)

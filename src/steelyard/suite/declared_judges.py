"""Who judges: the judges that a suite declares, those it chooses, and that none of them judges itself."""

from __future__ import annotations

import ipaddress
import posixpath
import socket
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from steelyard import registry
from steelyard.errors import SuiteError, UserMistake
from steelyard.importing import PLACE, find_callable
from steelyard.suite.draft import Draft
from steelyard.suite.judge_model import JudgeModel, JudgeSpec
from steelyard.suite.model import TargetSpec, Variant
from steelyard.suite.problems import Place, dotted
from steelyard.suite.spelling import found, listed, meant
from steelyard.suite.templates import compile_template

KINDS = ("chat", "python")
_AT: Place = ("judge", "judges")


def build_specs(raw: Any, draft: Draft) -> dict[str, JudgeSpec]:
    """Every judge that can be built, by name; everything wrong with the others is noted."""
    declared = raw if isinstance(raw, dict) else {}
    built = {name: _spec(name, given, (*_AT, name), draft) for name, given in declared.items()}
    for name in declared:
        if not name.strip():
            draft.tell("a judge's name must not be empty", _AT)
    return {name: spec for name, spec in built.items() if spec is not None}


def _spec(name: str, raw: Any, place: Place, draft: Draft) -> JudgeSpec | None:
    if callable(raw):
        raw = {"python": raw}
    if not isinstance(raw, dict) or len(raw) != 1:
        told = f"{len(raw)} kinds" if isinstance(raw, dict) else found(raw)
        sentence = f"a judge is one kind with its settings ({listed(KINDS)}); found {told.removeprefix('found ')}"
        draft.tell(f"{dotted(place)}: {sentence}", place)
        return None
    kind, settings = next(iter(raw.items()))
    if kind not in KINDS:
        hint = meant(kind, KINDS) or f"; there are: {listed(KINDS)}"
        draft.tell(f"{dotted(place)}: unknown kind of judge {kind!r}{hint}", (*place, kind))
        return None
    if kind == "chat":
        return settle_chat(name, {} if settings is None else settings, (*place, kind), draft)
    if not callable(settings) and not (isinstance(settings, str) and PLACE.match(settings)):
        draft.tell(f"{dotted((*place, kind))} must be a function: write module:function; {found(settings)}", place)
        return None
    return JudgeSpec(name, kind, settings)


def settle_chat(name: str, settings: Any, place: Place, draft: Draft) -> JudgeSpec | None:
    """A judge that is a model, or None with everything wrong with its settings noted."""
    try:
        model = registry.find("judges", "chat")
    except UserMistake as error:
        draft.tell(str(error), place)
        return None
    checked = draft.check_part(model, settings, place)
    return None if checked is None else JudgeSpec(name, "chat", checked)


def choose(by: Any, specs: Mapping[str, JudgeSpec], declared: Sequence[str], draft: Draft) -> tuple[JudgeSpec, ...]:
    """Those named by `by`, or the only one there is; what is wrong with the choice is noted."""
    if by is None and len(declared) == 1:
        by = declared[0]
    if by is None:
        if declared:
            draft.tell(f"judge.by is missing: say who judges; there are: {listed(declared)}", ("judge",))
        return ()
    names = by if isinstance(by, list) else [by]
    if not names:
        draft.tell("judge.by is empty: name at least one judge", ("judge", "by"))
    for at, name in enumerate(names):
        if not isinstance(name, str):
            return ()  # already told by the check of the whole judge
        if name in names[:at]:
            draft.tell(
                f"judge.by names {name!r} twice: for several readings by one judge write repeats", ("judge", "by")
            )
        elif name not in declared:
            hint = meant(name, declared) or f"; there are: {listed(declared)}"
            draft.tell(f"no judge is called {name!r}{hint}", ("judge", "by"))
    members = tuple(specs[name] for name in dict.fromkeys(names) if name in specs)
    if len({member.kind for member in members}) > 1:
        told = "a panel of models and code would mix two modes in one mean: let all be chat, or all python"
        draft.tell(f"judge.by: {told}", ("judge", "by"))
    _check_code(members, draft)
    return members


def _check_code(members: Sequence[JudgeSpec], draft: Draft) -> None:
    for member in members:
        if member.kind == "python" and isinstance(member.settings, str):
            try:
                find_callable(member.settings, draft.folder, "judge")
            except UserMistake as error:
                draft.tell(str(error), (*_AT, member.name))


def self_judged(target: TargetSpec | None, judge: JudgeModel, variants: Sequence[Variant]) -> str | None:
    """The sentence for a judge that is the system under test itself, or may be it, or None."""
    if judge.allow_self or target is None or target.kind != "chat":
        return None
    address = getattr(target.settings, "base_url", None) or ""
    model = str(getattr(target.settings, "model", ""))
    models = _models(model, variants)
    for member in judge.members:
        if member.kind != "chat" or not same_address(member.settings.base_url or "", address):
            continue
        if models is None:
            return (
                f"the judge {member.name!r} may be the system under test itself: both are asked at {address}, and which"
                f" model is tested there depends on the case ({model}), so that nobody can tell them apart:"
                " let a model at another address judge, or write allow_self: true"
            )
        if str(member.settings.model).strip() in models:
            return (
                f"the judge {member.name!r} is the system under test itself ({member.settings.model} at {address}):"
                " let another model judge, or write allow_self: true"
            )
    return None


def _models(model: str, variants: Sequence[Variant]) -> set[str] | None:
    """The names that a target's model has over the variants; None when they depend on more than that."""
    if "{" not in model:
        return {model.strip()}
    try:
        template = compile_template(model, where="model", names=("variant",))
        return {template.fill({"variant": variant.values}).strip() for variant in variants}
    except SuiteError:
        return None


def same_address(one: str, other: str) -> bool:
    """Whether two addresses lead to the same service, however they are written."""
    return _address(one) == _address(other)


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

"""What was scored: the target's name, what it is, and in which settings the targets of two runs differ."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from steelyard.frozen import frozen
from steelyard.records import RunHeader

_LONGEST = 60
_HASHES = {"source": "source code", "answers": "recorded answers", "settings": "settings", "stdin": "stdin"}
"""Parts of an identity that are hashes, with what they stand for: that they differ is all there is to show."""
_SIGNED = ("target", "prompts", "model")
_IDENTITY = ("kind", "model", "address", "function", "file", "run")
"""What tells targets of two kinds apart."""
_NOT_SET = "not set"
_MOST_NAMED = 4
_PLAIN = re.compile(r"[^\s'\"\\]+")


def target_name(header: RunHeader) -> str:
    """The target's name in its suite; what it is, where it has none."""
    return header.options.target_name or target_description(header)


def target_label(header: RunHeader) -> str:
    """The target's name with what it is: `v2 (http /ask of python agent.py)`."""
    name, description = header.options.target_name, target_description(header)
    return f"{name} ({description})" if name else description


def target_description(header: RunHeader) -> str:
    """What was scored, in a few words: the target's kind and model or place."""
    kind = header.target.kind
    described = {**(header.target.settings or {}), **header.target.facts}
    for key in ("name", "model", "file", "address", "command", "function"):
        value = described.get(key)
        if value and value != kind:
            words = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            return f"{kind} {shown_address(words, _start_command(header))}".strip()
    return kind or "unknown target"


def _start_command(header: RunHeader) -> str:
    """The command that starts the service of a run; "" where none is started or it was not stored."""
    start = ((header.options.asked_by or {}).get("more") or {}).get("start") or {}
    return _command_line([word for word in start.get("command", ()) if word != "{python}"])


def shown_address(address: str, command: str = "") -> str:
    """An address as a person reads it: `/ask of python agent.py` where its port was any free one."""
    place, unfilled, path = address.partition("{port}")
    service = command or "a service started for the run"
    return f"{path or '/'} of {service}" if unfilled and "/" not in place[8:] else address


@frozen
class SettingChange:
    """A setting in which two targets differ; both sides are "" where only that it differs is known."""

    name: str
    before: str = ""
    after: str = ""

    @property
    def message(self) -> str:
        """`model gpt-a -> gpt-b`, each side cut to what differs; the name where only that it differs is known."""
        if self.before == self.after:
            return self.name
        context, before, after = changed_part(self.before, self.after)
        return f"{self.name} {context}{before} -> {after}"


def target_changes(a: RunHeader, b: RunHeader) -> tuple[SettingChange, ...]:
    """In which settings the targets of two runs differ, by name and value; nothing for targets of equal settings."""
    signed = [(run.target, *(run.signature.part(part) for part in _SIGNED)) for run in (a, b)]
    if signed[0] == signed[1]:
        return ()
    stored = {*(a.options.asked_by or {})} & {*(b.options.asked_by or {})}
    before, after = target_settings(a, stored), target_settings(b, stored)
    if before.get("kind") != after.get("kind"):
        before, after = ({k: v for k, v in side.items() if k in _IDENTITY} for side in (before, after))
    changes = [
        SettingChange(name, _written(before, name), _written(after, name))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    hashed = [
        SettingChange(text)
        for key, text in _HASHES.items()
        if all(isinstance(run.target.facts.get(key), str) for run in (a, b))
        and a.target.facts[key] != b.target.facts[key]
    ]
    prompts = [run.target.prompts for run in (a, b)]
    changes += [
        SettingChange(f"prompt {name}")
        for name in {**prompts[0], **prompts[1]}
        if prompts[0].get(name) != prompts[1].get(name) and name not in {*before, *after}
    ]
    # A hash says nothing that the settings themselves do not.
    return tuple(changes or (hashed if a.target.kind == b.target.kind else []))


def changes_text(changes: tuple[SettingChange, ...]) -> str:
    """The changes as one sentence part, the first few of many."""
    shown = [change.message for change in changes[:_MOST_NAMED]]
    more = [f"{len(changes) - _MOST_NAMED} more"] if len(changes) > _MOST_NAMED else []
    return ", ".join([*shown, *more])


def target_settings(header: RunHeader, parts: Collection[str]) -> dict[str, str]:
    """What a run stores in these parts of its target's settings, each by its dotted name; no hashes, no secrets."""
    stored = {name: part for name, part in (header.options.asked_by or {}).items() if name in parts}
    settings = stored.get("settings") or header.target.settings
    groups = [
        {name: value for name, value in header.target.facts.items() if name not in {*_HASHES, "prompts", "n"}},
        settings if isinstance(settings, Mapping) else {},
        stored.get("more") or {},
    ]
    results = {name: text for group in groups for name, text in _flat(group)}
    # The address is what base_url and url say.
    for name in ("base_url", "url") if "address" in results else ():
        results.pop(name, None)
    if "address" in results:
        results["address"] = shown_address(results["address"])
    return results | {f"variant {name}": text for name, text in _flat(stored.get("variants") or {})}


def _flat(group: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in group.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            yield f"{before}{name}", _command_line(value)
        elif value is not None:
            yield f"{before}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _command_line(words: Iterable[str]) -> str:
    """As `shlex.join`, without quotes around `{port}` and the like."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def _written(settings: Mapping[str, str], name: str) -> str:
    return (settings[name] or "empty") if name in settings else _NOT_SET


def changed_part(before: str, after: str, most: int = _LONGEST) -> tuple[str, str, str]:
    """What differs between two texts: the option before it, and each side from the first to the last word that differs.

    `("--prompt ", "v2", "v3")` of `agent --prompt v2 --fast` and `agent --prompt v3 --fast`.
    """
    ours, theirs = before.split(), after.split()
    start = 0
    while start < min(len(ours), len(theirs)) and ours[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(ours), len(theirs)) - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    if not start and not end:
        return "", _cut(before, most), _cut(after, most)
    context = f"{_cut(ours[start - 1], most)} " if start and ours[start - 1].startswith("-") else ""
    sides = [" ".join(words[start : len(words) - end]) or "nothing" for words in (ours, theirs)]
    return context, _cut(sides[0], most), _cut(sides[1], most)


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."

"""What can be made to go wrong in the built-in service, so that an evaluation can be shown to notice it."""

from __future__ import annotations

import argparse
import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from .standards import SEVERITIES

ENV_PREFIX = "REVIEW_"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m)?")
_IN_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_MASKED_SILENT_LATENCY = 0.014


@dataclass(frozen=True, slots=True)
class Switches:
    """All faults that are switched on; the default is none."""

    latency: float = 0.0
    """Seconds that every review takes at least."""
    unstable: float = 0.0
    """The chance that an observation is lost, moved, or of another severity, anew in every call."""
    seed: int = 1
    masked_404: bool = False
    """The model is not found; the answer is 200, without observations and with an `errors` list."""
    masked_silent: bool = False
    """The same, and not even the list tells."""
    crash_after: int | None = None
    """Reviews after which every further one is a 500."""
    die_after: int | None = None
    """Reviews after which the next one ends the process without an answer."""
    not_ready_for: float = 0.0
    """Seconds after the start in which the service says that its model is not connected."""


OF_A_CALL = ("latency", "unstable", "seed", "masked_404", "masked_silent")
"""Those that can be asked for in the query of one call."""


def seconds(text: str) -> float:
    """The seconds in `20ms`, `1.5s`, `5m` or `2`; ValueError when it is none of these."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no time: write 20ms, 1.5s or 5m")
    return float(match.group(1)) * _IN_SECONDS[match.group(2)]


def share(text: str) -> float:
    """A number from 0 to 1; ValueError when it is none."""
    number = float(text)
    if not 0 <= number <= 1:
        raise ValueError(f"{text!r} is not from 0 to 1")
    return number


def _truth(text: str) -> bool:
    return text.strip().lower() not in ("", "0", "false", "no")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(f"{text!r} is below 0")
    return number


_READERS: dict[str, Any] = {
    "latency": seconds,
    "unstable": share,
    "seed": int,
    "masked_404": _truth,
    "masked_silent": _truth,
    "crash_after": _count,
    "die_after": _count,
    "not_ready_for": seconds,
}


def from_texts(base: Switches, given: Mapping[str, str]) -> Switches:
    """The switches with those that are given, by name, laid over them; ValueError when one cannot be read."""
    values: dict[str, Any] = {}
    for name, text in given.items():
        try:
            values[name] = _READERS[name](text)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return replace(base, **values)


def from_env(env: Mapping[str, str]) -> Switches:
    """The switches that the environment asks for: REVIEW_LATENCY, REVIEW_UNSTABLE, ...; ValueError as above."""
    names = {field.name: ENV_PREFIX + field.name.upper() for field in fields(Switches)}
    return from_texts(Switches(), {name: env[key] for name, key in names.items() if env.get(key)})


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give the command line one option for each switch."""
    add = parser.add_argument
    add("--latency", metavar="TIME", help="let every review take at least this long: 20ms, 1.5s")
    add("--unstable", metavar="SHARE", help="change this share of the observations, anew in every call")
    add("--seed", metavar="N", help="of what --unstable changes")
    for name, help_text in (
        ("--masked-404", "answer 200 without observations and with errors, as if the model were not found"),
        ("--masked-silent", "the same without the errors, after 14 ms"),
    ):
        add(name, action="store_const", const="1", help=help_text)
    add("--crash-after", metavar="N", help="answer 500 after so many reviews")
    add("--die-after", metavar="N", help="end the process after so many reviews")
    add("--not-ready-for", metavar="TIME", help="say for so long that the model is not connected")


def from_options(base: Switches, options: argparse.Namespace) -> Switches:
    """The switches with those of the command line laid over them; ValueError when one cannot be read."""
    given = {name: getattr(options, name) for name in _READERS if getattr(options, name) is not None}
    return from_texts(base, given)


def waiting_time(switches: Switches) -> float:
    """Seconds that a review is held back."""
    return max(switches.latency, _MASKED_SILENT_LATENCY if switches.masked_silent else 0.0)


def shaken(observations: Sequence[dict[str, Any]], switches: Switches, content: str, call: int) -> list[dict[str, Any]]:
    """The observations as an unstable model would give them.

    What changes depends on the document and on how often it was sent, not on what else is under way.
    """
    seed = hashlib.sha256(f"{switches.seed}\n{call}\n{content}".encode("utf-8", "surrogatepass")).digest()
    chance = random.Random(seed)  # noqa: S311 - chance that can be repeated, not a secret
    result = []
    for observation in observations:
        if chance.random() >= switches.unstable:
            result.append(observation)
        elif (changed := _changed(observation, chance, len(content))) is not None:
            result.append(changed)
    return result


def _changed(observation: dict[str, Any], chance: random.Random, length: int) -> dict[str, Any] | None:
    """The observation moved or of another severity; None when it is lost."""
    kind = chance.choice(("lost", "severity", "span"))
    if kind == "lost":
        return None
    if kind == "severity" or observation["span"] is None:
        others = [severity for severity in SEVERITIES if severity != observation["severity"]]
        return {**observation, "severity": chance.choice(others)}
    start, end = observation["span"]
    by = chance.randint(1, max(1, end - start))
    return {**observation, "span": [min(start + by, length), min(end + by, length)]}

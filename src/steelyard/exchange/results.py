"""Results of another tool as answers with that tool's own scores, whichever tool wrote them.

A reader is a function of a path that gives a `ResultFile`, or None when the file is not of its form. Everything that is
said of all samples is read first; `samples` then streams them, as often as it is called.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.errors import Problem, SnapshotError, SteelyardError, UsageError
from steelyard.frozen import frozen
from steelyard.suite.case import Case, digest
from steelyard.suite.readers import BrokenJson, JsonCursor, read_records
from steelyard.suite.streams import Damaged

NOTHING = "Nothing was imported"
_WORDS = re.compile(r"\w+")
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_ID = 40
_WORDS_OF_GRADES = {
    **dict.fromkeys(("yes", "true", "pass", "passed", "correct", "right"), 1.0),
    **dict.fromkeys(("no", "false", "fail", "failed", "incorrect", "wrong"), 0.0),
}


@frozen
class ResultSample:
    """One answer with what the other tool made of it."""

    case: Case
    answer: str | None
    messages: Sequence[Any] = ()
    """The whole conversation with its tool calls, where it is more than one question and one answer."""
    failure: str = ""
    """Why there is no answer."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """By scorer, on that scorer's own scale."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """By scorer, why it gave what it gave."""
    score: float | None = None
    """All of them together; None when the answer was not scored."""
    passed: bool | None = None
    """As the tool says; None when it says nothing."""
    variant: str = ""
    subject: str = ""
    """Who answered, in a file with several: each is a run of its own."""
    latency: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    model: str | None = None
    cached: bool = False
    """Whether the tool took the answer from its cache."""

    @property
    def conversation(self) -> dict[str, Any] | None:
        """The answer with the messages that led to it; None where there is no answer."""
        return None if self.answer is None else {"completion": self.answer, "messages": list(self.messages)}


@frozen
class SuiteScoring:
    """Another tool's graders as parts of a suite file."""

    score: Mapping[str, str] = field(default_factory=dict)
    """Components, each as a suite file has it."""
    judge: Mapping[str, Any] = field(default_factory=dict)
    passing: str = ""
    passes_exactly: bool = True
    """False where a sample passes there by each grader alone, and here by all together."""
    reads_json: bool = False
    whys: tuple[str, ...] = ()
    """By grader, what was chosen for it."""
    left_out: tuple[str, ...] = ()
    """Graders, or parts of them, that have no counterpart, with why."""


@frozen
class ResultFile:
    """What a file of another tool holds."""

    tool: str
    version: str
    name: str
    """What was evaluated: it becomes the name of the suite."""
    samples: Callable[[], Iterator[ResultSample]]
    """Each in turn; repeats of a case come one after another, in the order of the file."""
    created_at: float | None = None
    target: Mapping[str, Any] = field(default_factory=dict)
    scorers: Mapping[str, str] = field(default_factory=dict)
    """By name, the kind of scorer as the tool calls it."""
    counts_alone: str = ""
    """The scorer that the score is; "" when it is made of all."""
    prompts: Any = None
    """What was asked beside the cases, as far as the file says; only its hash is kept."""
    texts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By variant ("" without variants), the label and the text of its prompt."""
    errors_are_wrong: bool = False
    """True of a tool that counts an answer that did not come as a wrong one."""
    notes: tuple[str, ...] = ()
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """By scorer, the lowest and highest score that the tool declares; "" is the whole score."""
    scoring: SuiteScoring | None = None
    """How a suite scores the same; None: by one scorer that is chosen by kind and truth."""
    stated: Mapping[str, int] = field(default_factory=dict)
    """How many samples ended how, as its summary says: passed, failed, errors."""

    @property
    def scored_by(self) -> str:
        """The tool with its version, where the file says which."""
        return f"{self.tool} {self.version}".strip()


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns whatever is wrong with a file into one sentence; nothing of it is kept."""
    try:
        yield
    except BrokenJson as error:
        raise SnapshotError(f"{path}:{error.line}: {error}. {NOTHING}") from None
    except UnicodeDecodeError:
        raise SnapshotError(f"{path} is not UTF-8 text. {NOTHING}") from None
    except Damaged as error:
        raise SnapshotError(f"{path}: {error}. {NOTHING}") from None
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror or error}") from None
    except SteelyardError:
        raise
    except Exception as error:  # noqa: BLE001 - a file of another tool may be damaged or forged in any way
        raise SnapshotError(f"{path}: a record has another shape than expected ({error!r:.120}). {NOTHING}") from None


def opening(path: Path) -> str:
    """The first characters, by which a form is recognised; whatever is wrong behind them is reported by its reader."""
    with path.open("rb") as stream:
        return stream.read(4096).decode("utf-8-sig", "replace").lstrip()


def head(path: Path, *rows: str, see: Callable[[Any], None] = lambda _: None) -> dict[str, Any]:
    """A JSON document without the list under these keys, whose elements `see` gets one by one."""
    with path.open(encoding="utf-8-sig") as stream:
        cursor = JsonCursor(stream)
        result = _without_rows(cursor, rows, see)
        cursor.end()
    return result


def _without_rows(cursor: JsonCursor, rows: tuple[str, ...], see: Callable[[Any], None]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key in cursor.members():
        if key != rows[0]:
            result[key] = cursor.value()[0]
        elif len(rows) > 1:
            result[key] = _without_rows(cursor, rows[1:], see)
        else:
            result[key] = None
            for value, _, _ in cursor.elements():
                see(value)
    return result


def elements(path: Path, *steps: str) -> Iterator[Any]:
    """Each element of the list under these keys of a JSON document."""
    with path.open(encoding="utf-8-sig") as stream:
        cursor = JsonCursor(stream)
        for step in steps:
            if not any(key == step or not cursor.value() for key in cursor.members()):
                raise SnapshotError(f"{path} has no {step!r}. {NOTHING}")
        for value, _, _ in cursor.elements():
            yield value


def as_text(answer: Any) -> str:
    """An answer as text; data as JSON."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def number(value: Any) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def count(value: Any) -> int | None:
    """A whole number from 0 up; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def grade(value: Any, words: Mapping[str, float] = _WORDS_OF_GRADES) -> float | None:
    """A grade as a number: true is 1, "85 %" is 0.85; None for what is none."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        word = value.strip().lower()
        if word in words:
            return words[word]
        try:
            value = float(word.rstrip("% ")) / (100 if word.endswith("%") else 1)
        except ValueError:
            return None
    return number(value)


def moment(text: Any) -> float | None:
    """Seconds since 1970 of a time in ISO form, UTC where it names no zone; None for what is none."""
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def key_of(name: Any) -> str:
    """The name of a scorer as gates can name it."""
    return _NAME.sub("_", str(name)).strip("_") or "score"


def case_id(asked: Any, shown: str) -> str:
    """A name for a case without one: its first words, and what tells it from others. The same in every file."""
    words = "-".join(_WORDS.findall(shown.lower()))[:_LONGEST_ID].strip("-_")
    return f"{words or 'case'}-{digest(asked)[:6]}"


def refuse_twins(seen: dict[str, str], case: Case) -> None:
    """Note a case by its hash; SnapshotError when another one had its id."""
    hashed = digest([case.input, case.expected, case.category])
    if seen.setdefault(case.id, hashed) != hashed:
        raise SnapshotError(f"two different cases have the id {case.id!r}. {NOTHING}")


def asked(prompt: Any) -> dict[str, Any]:
    """What was asked as the input of a case: the text of a single message, or all messages."""
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], dict):
        prompt = prompt[0].get("content", prompt)
    return {"text": prompt} if isinstance(prompt, str) else {"messages": prompt}


def recognise(path: Path) -> ResultFile:
    """The results in a file, by its content; SnapshotError that lists the forms when it is of none."""
    from steelyard.exchange import inspect_logs, line_files, openai_evals, promptfoo

    if not path.is_file():
        raise UsageError(f"there is no file at {path}")
    with reading(path):
        for read in (inspect_logs.read_zip, inspect_logs.read_json, promptfoo.read, openai_evals.read, line_files.read):
            result = read(path)
            if result is not None:
                return result
    raise SnapshotError(
        f"{path} is not a Steelyard snapshot, nor of another form that is recognised: {_beginning(path)}. These are"
        " inspect logs (.eval, JSON), promptfoo results JSON (promptfoo eval -o results.json), lm-eval samples_*.jsonl"
        " (--log_samples), OpenAI-evals JSONL, output items of OpenAI's Evals API (JSON, JSONL), and CSV or JSONL with"
        " the columns question, answer, expected, score."
        f" {NOTHING}. If another tool wrote it, name the suite that reads it: --suite SUITE"
    )


def _beginning(path: Path) -> str:
    text = opening(path).rstrip()
    return f"it begins with {text[:60]!r}" if text else "it is empty"


def records_of(path: Path) -> Iterator[Any]:
    """What stands in each line of a file; SnapshotError for a line that cannot be read."""
    for record in read_records(path, str(path), "", _refuse):
        yield record.data


def _refuse(problem: Problem) -> None:
    raise SnapshotError(f"{problem}. {NOTHING}")

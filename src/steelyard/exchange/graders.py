"""Graders of OpenAI's Evals as scorers and a judge of a suite; what has no counterpart is named."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.exchange.results import SuiteScoring, as_text, key_of

_HOLE = re.compile(r"{{\s*(.*?)\s*}}", re.DOTALL)
_ID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_PLAIN = re.compile(r"(item|sample)((?:\.[A-Za-z_]\w*)+)")
_OUTPUT, _OUTPUT_JSON = "sample.output_text", "sample.output_json"
_TRUTH_NAMES = ("expected", "expected_output", "reference", "ideal", "ground_truth", "correct_label", "label", "target")
"""Fields that hold the truth, where no grader says which do."""
_JUDGED = ("label_model", "score_model")
_SIMILAR = "{similarity: {expected: %s%s}}"
_SAMPLING = {"temperature": "temperature", "seed": "seed", "max_completions_tokens": "max_tokens"}


def key_of_grader(name: str) -> str:
    """The name of a grader as gates can name it: results have an id behind it."""
    return key_of(_ID.sub("", name))


class Grader:
    """One of an eval's testing criteria."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data, self.kind = data, str(data.get("type") or "grader")
        self.key = key_of_grader(str(data.get("name") or data.get("id") or self.kind))
        self.threshold = data.get("pass_threshold")

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        low, high = self.data.get("range") or (0, 1)
        return float(low), float(high)

    @property
    def sides(self) -> tuple[str, str]:
        """What is graded and what with, as templates; the answer first, where two texts are only to be equal."""
        graded, reference = (str(self.data.get(name) or "") for name in ("input", "reference"))
        swapped = "sample." in reference and "sample." not in graded and self.data.get("operation") in ("eq", "ne")
        return (reference, graded) if swapped else (graded, reference)

    @property
    def prompt(self) -> str:
        """The messages of a grader that is a model, as one text."""
        texts = []
        for message in self.data.get("input") or []:
            content = message.get("content") if isinstance(message, dict) else message
            parts = content if isinstance(content, list) else [content]
            texts += [str(part.get("text") or "") if isinstance(part, dict) else str(part or "") for part in parts]
        return "\n\n".join(filter(None, texts))

    @property
    def has_pictures(self) -> bool:
        """Whether it shows its model something other than text."""
        contents = [message.get("content") for message in self.data.get("input") or [] if isinstance(message, dict)]
        parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
        return any(isinstance(part, dict) and "text" not in str(part.get("type")) for part in parts)


def _holes(template: str) -> list[str]:
    return _HOLE.findall(template)


def _only_hole(template: str) -> str:
    """The expression that a template consists of; "" for any other text."""
    found = _HOLE.fullmatch(template.strip())
    return found[1] if found and _PLAIN.fullmatch(found[1]) else ""


def _at(item: Any, path: str) -> Any:
    for step in path.split(".")[1:]:
        item = item.get(step) if isinstance(item, dict) else None
    return item


class ItemFields:
    """Which fields of an item are its truth, which one its answer, and what is asked."""

    def __init__(self, graders: Mapping[str, Grader]) -> None:
        self._graders = [grader for grader in graders.values() if grader.kind in ("string_check", "text_similarity")]
        graded = [path for grader in self._graders if (path := _only_hole(grader.sides[0])).startswith("item.")]
        self.answer = graded[0].removeprefix("item.") if graded and "." not in graded[0][5:] else ""
        """The field with the answer, where the eval grades what its data source already had."""
        self._known = bool(graders)
        judged = " ".join(grader.prompt for grader in graders.values() if grader.kind in _JUDGED)
        self._shown = {path.split(".")[1] for path in _holes(judged) if path.startswith("item.")}

    def reference(self, grader: Grader) -> tuple[str, str]:
        """The path to a grader's truth in the case, or a text that is the same for all."""
        reference = grader.sides[1]
        if not _holes(reference):
            return "", reference
        field = _only_hole(reference).rpartition(".")[2] if _only_hole(reference).startswith("item.") else ""
        return f"expected.{field or grader.key}", ""

    def parted(self, item: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """What is asked, and the truth by name; None where there is none."""
        truth, fields = {}, {self.answer}
        for grader in self._graders:
            path, _ = self.reference(grader)
            if not path:
                continue
            reference = grader.sides[1]
            hole = _only_hole(reference)
            value = _at(item, hole) if hole else _HOLE.sub(lambda found: as_text(_at(item, found[1])), reference)
            if value is not None:
                truth[path.removeprefix("expected.")] = value
            fields |= {expression.split(".")[1] for expression in _holes(reference) if expression.startswith("item.")}
        if not self._known:
            named = [name for name in _TRUTH_NAMES if name in item][:1]
            truth, fields = {name: item[name] for name in named}, {*named}
        # A judge sees what is asked: what its prompt names stays there.
        fields -= self._shown - {self.answer}
        return {key: value for key, value in item.items() if key not in fields}, truth or None


def suite_scoring(graders: list[Grader], fields: ItemFields) -> SuiteScoring | None:
    """The graders as parts of a suite file; None without any."""
    if not graders:
        return None
    score: dict[str, str] = {}
    left_out: list[str] = []
    needed: list[float] = []
    whys: list[str] = []
    judged = [grader for grader in graders if grader.kind in _JUDGED]
    reads_json = any(_OUTPUT_JSON in grader.sides[0] for grader in graders if grader not in judged)
    for grader in graders:
        if grader in judged:
            continue
        scorer, why, least = _scorer(grader, fields, reads_json=reads_json)
        name = f"{grader.key} ({grader.kind})"
        if not scorer:
            left_out.append(f"{name}: {why}")
            continue
        score[grader.key] = scorer
        whys.append(f"{name}: {why}")
        needed.append(least)
    judge, of_judge, unjudged = _judge(judged)
    left_out += unjudged
    needed += of_judge
    whys += [
        f"{grader.key} ({grader.kind}): a judge with the grader's text as its rubric" for grader in judged if judge
    ]
    least = sum(needed) / len(needed) if needed else 1.0
    return SuiteScoring(
        score=score,
        judge=judge,
        passing=f"score >= {math.floor(least * 1e4) / 100:g} %",
        passes_exactly=len(needed) == 1 or all(item == 1 for item in needed),
        reads_json=reads_json,
        whys=tuple(whys),
        left_out=tuple(left_out),
    )


def _scorer(grader: Grader, fields: ItemFields, *, reads_json: bool) -> tuple[str, str, float]:
    """A scorer as a suite file has it, why, and the least value that passes; without a scorer, why there is none."""
    if grader.kind not in ("string_check", "text_similarity"):
        return "", "there is no counterpart: write it as a scorer in Python", 0
    graded, reference = grader.sides
    of_answer = _only_hole(graded)
    at = ""
    if of_answer.startswith(f"{_OUTPUT_JSON}."):
        at = f", answer: {of_answer.removeprefix(f'{_OUTPUT_JSON}.')}"
    elif of_answer not in (_OUTPUT, f"item.{fields.answer}") or reads_json:
        return "", f"it grades {graded!r}, which is not the answer here", 0
    if any(not _PLAIN.fullmatch(hole) for hole in _holes(reference)) or "sample." in reference:
        return "", f"its reference {reference!r} is no text of the item", 0
    path, constant = fields.reference(grader)
    if grader.kind == "text_similarity":
        return _similarity(grader, path, at)
    operation = grader.data.get("operation")
    if not path:
        return _constant(operation, constant, at)
    if operation == "eq":
        return f"{{exact: {{expected: {path}, ignore: []{at}}}}}", "the same text", 1
    if operation in ("like", "ilike"):
        why = "the answer contains it; here as whole words, in any letter case"
        return f"{{contains: {{expected: {path}{at}}}}}", why, 1
    return "", f"there is no counterpart of the operation {operation}: write it as a scorer in Python", 0


def _constant(operation: Any, text: str, at: str) -> tuple[str, str, float]:
    escaped = re.sub(r"([^\w\s])", r"\\\1", text)
    patterns = {"eq": escaped, "ne": f"(?s)(?!{escaped}\\Z).+", "like": escaped, "ilike": escaped}
    if operation not in patterns or not text.strip():
        return "", f"there is no counterpart of the operation {operation} with {text!r}", 0
    example = f"not {text}" if operation == "ne" else text
    settings: dict[str, Any] = {"pattern": patterns[operation], "example": example}
    settings |= {"whole": True} if operation in ("eq", "ne") else {}
    settings |= {"ignore_case": True} if operation == "ilike" else {}
    written = ", ".join(f"{key}: {_quoted(value)}" for key, value in settings.items())
    return f"{{regex: {{{written}{at}}}}}", f"{operation} a text that is the same for every case", 1


def _quoted(value: Any) -> str:
    """A value for YAML, a text in single quotes: what has line ends is not written so."""
    if isinstance(value, bool):
        return str(value).lower()
    return "'" + str(value).replace("'", "''").replace("\n", "\\n") + "'"


def _similarity(grader: Grader, path: str, at: str) -> tuple[str, str, float]:
    metric, threshold = str(grader.data.get("evaluation_metric")), grader.threshold
    least = threshold if isinstance(threshold, int | float) else 1.0
    if not path:
        return "", "its reference is the same for every case", 0
    if metric == "fuzzy_match":
        scorer = f"{{keywords_or_fuzzy: {{expected: {path}, likeness: edits{at}}}}}"
        return scorer, "rapidfuzz's ratio, in any letter case", least
    limit = f", at_least: {least:g}"
    if metric == "cosine":
        model = (
            'embeddings: {base_url: "https://api.openai.com/v1", model: text-embedding-3-small, token: OPENAI_API_KEY}'
        )
        return _SIMILAR % (path, f"{limit}, {model}{at}"), "the cosine of embeddings; the model is our choice", 1
    why = f"chrF in the place of {metric}, which gives other values: choose at_least anew"
    return _SIMILAR % (path, f"{limit}{at}"), why, 1


def _judge(graders: list[Grader]) -> tuple[dict[str, Any], list[float], list[str]]:
    """The graders that are models as one judge: what it is, the least share of the scale that passes, what is left."""
    scored = [grader for grader in graders if grader.kind == "score_model"]
    ends = scored[0].scale if scored else (0.0, 1.0)
    low, high = math.floor(ends[0]), math.ceil(ends[1])
    dimensions: dict[str, Any] = {}
    needed, left_out = [], []
    for grader in graders:
        if grader in scored and grader.scale != ends:
            why = f"its range {grader.data.get('range')} is another than the judge's, {low} to {high}"
            left_out.append(f"{grader.key} ({grader.kind}): {why}")
            continue
        dimensions[grader.key] = {"about": "".join(_in_words(grader.prompt))}
        if grader.kind == "label_model":
            passing = [str(label) for label in grader.data.get("passing_labels") or []]
            others = [str(label) for label in grader.data.get("labels") or [] if label not in passing]
            meanings = {high: " or ".join(passing), low: " or ".join(others)}
            dimensions[grader.key]["scores"] = {score: f"The label is {text}" for score, text in meanings.items()}
        least = ends[1] if grader.threshold is None else float(grader.threshold)
        needed.append(1.0 if grader.kind == "label_model" else (least - ends[0]) / (ends[1] - ends[0]))
        left_out += [f"{grader.key} ({grader.kind}): {why}" for why in _not_judged(grader, graders[0])]
    if not dimensions:
        return {}, [], left_out
    settings = {"base_url": "https://api.openai.com/v1", "model": str(graders[0].data.get("model"))}
    judges = {"grader": {"chat": settings | {"token": "OPENAI_API_KEY"} | _sampling(graders[0])}}
    return {"judges": judges, "rubric": {"scale": [low, high], "dimensions": dimensions}}, needed, left_out


def _sampling(grader: Grader) -> dict[str, Any]:
    given = {name: value for name, value in (grader.data.get("sampling_params") or {}).items() if value is not None}
    extra = {name: value for name, value in given.items() if name not in _SAMPLING}
    return {_SAMPLING[name]: value for name, value in given.items() if name in _SAMPLING} | (
        {"extra": extra} if extra else {}
    )


def _not_judged(grader: Grader, first: Grader) -> Iterator[str]:
    """What of a grader the judge does not do."""
    if grader.kind == "score_model" and grader.threshold is None:
        yield "it has no pass_threshold, so the highest score passes"
    if grader.has_pictures:
        yield "pictures and sound of its prompt, which a judge here does not get"
    if grader.data.get("model") != first.data.get("model"):
        yield f"its model {grader.data.get('model')}, since one judge, {first.data.get('model')}, scores all"
    elif _sampling(grader) != _sampling(first):
        yield f"its sampling_params {grader.data.get('sampling_params')}, since one judge scores all"


def _in_words(prompt: str) -> Iterator[str]:
    """A prompt with its holes in words: a judge here gets the text and the input with every call."""
    at = 0
    for hole in _HOLE.finditer(prompt):
        yield prompt[at : hole.start()]
        at, path = hole.end(), hole[1]
        if path.startswith("sample."):
            yield "(the text to judge)" if path == _OUTPUT else f"(the text to judge: {path.removeprefix('sample.')})"
        else:
            yield f"(input: {path.removeprefix('item.')})"
    yield prompt[at:]

"""What a run would take and cost, before it is made: nobody is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice
from typing import Any

from steelyard.analysis.stored import figures_of
from steelyard.engine.plan import Plan, Planned
from steelyard.engine.run_options import RunOptions
from steelyard.frozen import frozen
from steelyard.loading.chosen_judge import models_of
from steelyard.metrics.figures import WHOLE_RUN, Figures
from steelyard.records import RunHeader, RunState, TargetFacts
from steelyard.report import document as doc
from steelyard.report import format as fmt
from steelyard.scoring.model_scorers import models_asked
from steelyard.store.base import Store
from steelyard.store.figures import SliceKey
from steelyard.suite.judge import MODELS, JudgeModel
from steelyard.suite.models import SuiteModel, Variant
from steelyard.suite.prices import FILE, Price, Prices, price_of, read_prices
from steelyard.targets.base import Target, TargetContext, open_target
from steelyard.targets.stored_request import NamedVariables

_RENDERED = 500
"""Requests that are rendered; more are taken to be as long on average."""
_EARLIER = 5
_SPREAD = 0.1
"""How far beyond what earlier runs took the range goes."""
_LEAST_A_TOKEN, _MOST_A_TOKEN = 3, 5
"""Characters of a token: about 4 in English, fewer in code and other writing."""
_NOTES = (
    "Calls that fail and are made again, and judges that are asked again, are not in it; nor are pictures, and what a"
    " provider's cache saves.",
    "Nothing was sent.",
)


@frozen
class AmountRange:
    """From the least to the most; `high` is None when nothing limits it."""

    low: float = 0.0
    high: float | None = 0.0

    def times(self, factor: float) -> AmountRange:
        """So many times as much."""
        return AmountRange(self.low * factor, None if self.high is None else self.high * factor)

    def plus(self, other: AmountRange) -> AmountRange:
        """Both together."""
        return AmountRange(
            self.low + other.low, None if self.high is None or other.high is None else self.high + other.high
        )

    def written(self, unit: str) -> str:
        """With two figures, since it is an estimate: `1,300 to 1,500`."""
        ends = [fmt.in_unit(float(f"{end:.2g}"), unit) for end in (self.low, self.high) if end is not None]
        return f"{ends[0]} and more" if self.high is None else " to ".join(dict.fromkeys(ends))


@frozen
class PartEstimate:
    """What the calls of the target, of one of its variants or of one judge take."""

    who: str
    model: str | None
    calls: int
    tokens_in: AmountRange
    tokens_out: AmountRange
    cost: AmountRange | None
    """None when nobody knows what a call costs."""
    basis: str
    """What it stands on, in words."""


@frozen
class RunEstimate:
    """What a run would take."""

    suite: str
    calls: int
    parts: tuple[PartEstimate, ...]
    cost: AmountRange | None
    """Of all parts; None when one of them has no price."""
    not_priced: tuple[str, ...]

    def document(self) -> doc.Document:
        """As a table, with the cost of all first."""
        unpriced = [part for part in self.parts if part.cost is None]
        cure = f"; write {FILE}" if any(part.model for part in unpriced) else ", and no earlier run tells"
        without = f"{fmt.NOT_AVAILABLE}: no price for {', '.join(self.not_priced)}{cure}"
        facts = doc.Facts([("Calls", f"{self.calls:,}"), ("Cost", self.cost.written("cost") if self.cost else without)])
        table = doc.table(
            "What it takes",
            self.parts,
            ("Who", lambda part: part.who),
            (doc.words("Model"), lambda part: part.model or ""),
            ("Calls", lambda part: f"{part.calls:,}"),
            ("Tokens sent", lambda part: part.tokens_in.written("count")),
            ("Tokens received", lambda part: part.tokens_out.written("count")),
            ("Cost", lambda part: part.cost.written("cost") if part.cost else fmt.NOT_AVAILABLE),
            (doc.words("Based on"), lambda part: part.basis),
        )
        return doc.Document(f"{self.suite}: estimate", [facts, *doc.table_section(table, main=True)], footer=_NOTES)


def estimate_run(suite: SuiteModel, store: Store | None, options: RunOptions) -> RunEstimate:
    """What a run of the suite would take, by the requests it would make and by its newest runs in the store."""
    plan, prices = Plan(suite, options.selection, options.repeats or suite.repeats), read_prices(suite.folder)
    runs = [] if store is None else store.runs(suite.name, _EARLIER * 4)
    earlier = [run for run in runs if run.state is RunState.ENDED and run.rescored_from is None][:_EARLIER]
    target = open_target(suite.target, TargetContext(suite.folder, suite.answer.schema_data, NamedVariables()))
    asked, parts = list(islice(plan.asks(), _RENDERED)), []
    if not getattr(target, "makes_no_calls", False):
        identity = TargetFacts.from_data(target.identity())
        same = [run for run in earlier if run.target.model == identity.model]
        figures = {} if store is None else figures_of(store, same, _OF_CALLS, ["variant"])
        parts = [
            _variant(suite, target, variant, plan, asked, list(figures.values()), prices) for variant in plan.variants
        ]
    lengths = [part.tokens_out.times(1 / part.calls) for part in parts]
    most = [item.high for item in lengths if item.high is not None]
    answer = AmountRange(min((item.low for item in lengths), default=0.0), max(most) if most else None)
    parts += _embeddings(models_asked(suite.computed), plan, asked, answer, prices)
    if suite.judge is not None:
        parts += _judges(suite.judge, plan, asked, answer, _spent(suite.judge, store, earlier), prices)
    costs = [part.cost for part in parts if part.cost is not None]
    total = reduce(AmountRange.plus, costs, AmountRange()) if len(costs) == len(parts) else None
    without = dict.fromkeys(part.model or part.who for part in parts if part.cost is None)
    return RunEstimate(suite.name, sum(part.calls for part in parts), tuple(parts), total, tuple(without))


_OF_CALLS = ("tokens.in", "tokens.out", "cost.total")


def _variant(
    suite: SuiteModel,
    target: Target,
    variant: Variant,
    plan: Plan,
    asked: Iterable[Planned],
    earlier: list[Figures],
    prices: Prices,
) -> PartEstimate:
    settings, calls = suite.target.settings, plan.n // len(plan.variants)
    sent, received, cost = (_around(_means(earlier, variant.name, name)) for name in _OF_CALLS)
    basis = [fmt.counted(len(earlier), "earlier run")] if sent or received or cost else []
    model = price = None
    if suite.target.kind in MODELS:
        model = next(iter(models_of(settings.model, [variant]) or [str(settings.model)]))
        price = price_of(settings, prices, model)
        if sent is None:
            keys = [target.request_key(item.ask) for item in asked if item.ask.variant.name == variant.name]
            characters = sum(_length(key["body"]) for key in keys if key) / max(1, len(keys))
            sent = AmountRange(characters / _MOST_A_TOKEN, characters / _LEAST_A_TOKEN)
            basis.append("characters of the requests")
    if received is None:
        limit = getattr(settings, "max_tokens", None)
        received = AmountRange(0.0, limit)
        basis.append("no limit of tokens" if limit is None else f"max_tokens {limit:,}")
    sent = sent or AmountRange(0.0, None)
    cost = cost if price is None else _cost(price, sent, received)
    who = f"target, {variant.name}" if len(plan.variants) > 1 else "target"
    return PartEstimate(
        who, model, calls, sent.times(calls), received.times(calls), cost and cost.times(calls), "; ".join(basis)
    )


def _means(runs: Iterable[Figures], variant: str, name: str) -> list[float]:
    """What a call of each run reported on average, of those that reported it at all."""
    of = SliceKey("variant", variant)
    totals = [run.at(of if of in run.planned else WHOLE_RUN)[name] for run in runs]
    return [total.value / total.n for total in totals if total.value is not None and total.n]


def _around(values: list[float]) -> AmountRange | None:
    return AmountRange(min(values) * (1 - _SPREAD), max(values) * (1 + _SPREAD)) if values else None


def _cost(price: Price, sent: AmountRange, received: AmountRange) -> AmountRange:
    out = received.times(price.output / 1_000_000) if price.output else AmountRange()
    return sent.times(price.input / 1_000_000).plus(out)


def _length(body: Any) -> int:
    """Characters of all texts in a body."""
    if isinstance(body, dict | list):
        return sum(map(_length, body.values() if isinstance(body, dict) else body))
    return len(body) if isinstance(body, str) else 0


def _spent(judge: JudgeModel, store: Store | None, earlier: Iterable[RunHeader]) -> tuple[list[float], list[float]]:
    """Tokens that a judge call sent and received on average, in each earlier run with the same judges."""
    models = [member.model for member in judge.members]
    same = [
        run for run in earlier if (then := run.description.judge) and [item.model for item in then.members] == models
    ]
    spent = [item for run in same if store is not None and (item := store.judge_spending(run.id)).n_tokens]
    return [item.tokens_in / item.n_tokens for item in spent], [item.tokens_out / item.n_tokens for item in spent]


def _embeddings(
    models: Iterable[Any], plan: Plan, asked: list[Planned], answer: AmountRange, prices: Prices
) -> Iterator[PartEstimate]:
    """Of each scorer that asks a model, which is sent the answer and the expected text."""
    characters = sum(_length(item.case.expected) for item in asked) / max(1, len(asked))
    sent = answer.plus(AmountRange(characters / _MOST_A_TOKEN, characters / _LEAST_A_TOKEN)).times(plan.n)
    basis = "answers and expected texts, each pair a call"
    for model in models:
        price = price_of(model, prices)
        cost = None if price is None else _cost(price, sent, AmountRange())
        yield PartEstimate("embeddings", model.model, plan.n, sent, AmountRange(), cost, basis)


def _judges(
    judge: JudgeModel,
    plan: Plan,
    asked: list[Planned],
    answer: AmountRange,
    took: tuple[list[float], list[float]],
    prices: Prices,
) -> Iterator[PartEstimate]:
    from steelyard.judging.cost_estimate import CHARACTERS_A_TOKEN, prompt_characters

    def characters(tokens: float) -> float:
        """Of a prompt on average, about an answer of so many tokens."""
        text = "a" * max(1, round(tokens * CHARACTERS_A_TOKEN))
        return sum(prompt_characters(judge, text, item.case, {}) for item in asked) / max(1, len(asked))

    sent, basis = _around(took[0]), f"judge calls of {fmt.counted(len(took[0]), 'earlier run')}"
    if sent is None:
        most = None if answer.high is None else characters(answer.high) / _LEAST_A_TOKEN
        sent, basis = AmountRange(characters(answer.low) / _MOST_A_TOKEN, most), "characters of the prompts"
    calls = plan.n * judge.repeats
    for member in judge.members:
        if member.is_model:
            received = _around(took[1]) or AmountRange(0.0, member.settings.max_tokens)
            price = price_of(member.settings, prices)
            cost = None if price is None else _cost(price, sent, received).times(calls)
            who = f"judge {member.name}"
            yield PartEstimate(who, member.model, calls, sent.times(calls), received.times(calls), cost, basis)

"""What it would take to ask the judges, before anybody is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.errors import SuiteError
from steelyard.frozen import frozen
from steelyard.judging.answers import asked_about, findings_to_answer, shown_findings
from steelyard.judging.fence import new_fence
from steelyard.judging.prompt import messages
from steelyard.records import Finding
from steelyard.suite.case import Case
from steelyard.suite.judge import JudgeModel
from steelyard.suite.prices import Prices, price_of

CHARACTERS_A_TOKEN = 4
"""A rule of thumb for English; other writing takes more tokens."""


@frozen
class CostEstimate:
    """What judging would take if no answer had to be asked for again."""

    texts: int
    calls: int
    tokens_sent: int
    """Estimated from the length of the prompts."""
    most_received: int | None
    """Tokens; None when a judge has no limit of its own."""
    least_cost: float | None
    """For what is sent alone; None when a judge has no price."""
    most_cost: float | None
    """When every answer is as long as it may be; None when a judge has no price or no limit."""

    def __str__(self) -> str:
        """One line for whoever has to say yes."""
        sent = f"about {self.tokens_sent:,} tokens sent (a token taken for {CHARACTERS_A_TOKEN} characters)"
        received = "no limit on those received"
        if self.most_received is not None:
            received = f"at most {self.most_received:,} received"
        return f"{self.texts:,} texts, at least {self.calls:,} calls, {sent}, {received}; {self._price()}"

    def _price(self) -> str:
        if self.least_cost is None:
            return "price unknown"
        if self.most_cost is None:
            return f"price at least about {self.least_cost:.4g}"
        return f"price about {self.least_cost:.4g} to {self.most_cost:.4g}"


def prompt_characters(
    judge: JudgeModel, text: str, case: Case, metrics: Mapping[str, Any], findings: Iterable[Finding] = ()
) -> int:
    """How long the prompt about one text is; 0 when a template cannot be filled from the case, so nothing is sent."""
    fence, owed = new_fence(text), findings_to_answer(judge, findings)
    try:
        prompt = messages(asked_about(judge, owed), text, case, metrics, fence, shown_findings(judge, owed, fence))
    except SuiteError:
        return 0
    return sum(len(message["content"]) for message in prompt.messages)


def estimate_cost(judge: JudgeModel, prompt_lengths: Iterable[int], prices: Prices | None = None) -> CostEstimate:
    """What asking every model of the panel takes; `prompt_lengths` gives `prompt_characters` of each text."""
    lengths = [length for length in prompt_lengths if length]
    connections = [member.settings for member in judge.members if member.is_model]
    tokens_each = sum(lengths) * judge.repeats / CHARACTERS_A_TOKEN
    calls_each = len(lengths) * judge.repeats
    model_prices = [price for connection in connections if (price := price_of(connection, prices or {}))]
    limits = [connection.max_tokens for connection in connections]
    priced, limited = len(model_prices) == len(connections), None not in limits
    least = sum(tokens_each * price.input for price in model_prices) / 1_000_000 if priced else None
    most = None
    if least is not None and limited:
        received = sum(calls_each * limit * price.output for limit, price in zip(limits, model_prices, strict=True))
        most = least + received / 1_000_000
    return CostEstimate(
        texts=len(lengths),
        calls=calls_each * len(connections),
        tokens_sent=round(tokens_each * len(connections)),
        most_received=calls_each * sum(limits) if limited else None,
        least_cost=least,
        most_cost=most,
    )

"""What asking the judges would take, from figures worked out by hand."""

from __future__ import annotations

import pytest

from steelyard.judging.cost_estimate import estimate_cost
from steelyard.suite.judge import Dimension, JudgeModel, Member, Rubric
from steelyard.targets.model_address import ChatConnection

RUBRIC = Rubric(dimensions=(Dimension(name="tone"),))


def panel(*settings):
    members = [ChatConnection(base_url="http://a/v1", model=f"m{n}", **more) for n, more in enumerate(settings)]
    specs = tuple(Member(name=one.model, kind="chat", settings=one) for one in members)
    return JudgeModel(rubric=RUBRIC, members=(*specs, Member(name="rules", kind="python", settings="m:f")), repeats=2)


def test_the_estimate_counts_calls_tokens_and_money():
    cheap, dear = {"input": 1, "output": 2}, {"input": 10, "output": 30}
    judge = panel({"price": cheap, "max_tokens": 100}, {"price": dear, "max_tokens": 200})
    told = estimate_cost(judge, [4_000, 0, 8_000])
    # 2 texts (one cannot be asked about) x 2 models x 2 repeats; 12,000 characters / 4 = 3,000 tokens x 4
    assert (told.texts, told.calls, told.tokens_sent) == (2, 8, 12_000)
    # 4 calls of each model: 4 x 100 + 4 x 200
    assert told.most_received == 1_200
    # sent, 6,000 tokens each: (6,000 x 1 + 6,000 x 10) / 1,000,000
    assert told.least_cost == pytest.approx(0.066)
    # and received: (400 x 2 + 800 x 30) / 1,000,000 = 0.0248 more
    assert told.most_cost == pytest.approx(0.0908)
    assert str(told) == (
        "2 texts, at least 8 calls, about 12,000 tokens sent (a token taken for 4 characters), at most 1,200 received; "
        "price about 0.066 to 0.0908"
    )


def test_an_estimate_without_prices_or_limits_says_so():
    unpriced = estimate_cost(panel({"price": {"input": 1, "output": 1}}, {}), [400])
    assert (unpriced.least_cost, unpriced.most_cost, unpriced.most_received) == (None, None, None)
    assert str(unpriced).endswith("no limit on those received; price unknown")
    unlimited = estimate_cost(panel({"price": {"input": 1_000, "output": 1}}), [400])
    # 400 / 4 x 2 repeats = 200 tokens at 1,000 a million
    assert str(unlimited).endswith("no limit on those received; price at least about 0.2")

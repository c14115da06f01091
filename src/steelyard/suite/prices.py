"""What tokens cost: the price of a model, and the price file that the suites of a project share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard.errors import Problem, SuiteError
from steelyard.suite.files import text_of
from steelyard.suite.yaml import explain, read_yaml, result

FILE = "prices.yaml"
DECLARE_PRICE = f"declare `price` in its settings, or the price of its model in {FILE}"


class Tokens(Protocol):
    """How many tokens a call took; None for what nobody counted."""

    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    tokens_written: int | None


class Price(BaseModel):
    """What a million tokens cost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(description="Price of a million tokens sent.", ge=0, allow_inf_nan=False)
    output: float = Field(description="Price of a million tokens received.", ge=0, allow_inf_nan=False)
    cached_input: float | None = Field(
        default=None,
        description="Price of a million tokens sent that came from the provider's cache. Default: as `input`.",
        ge=0,
        allow_inf_nan=False,
    )
    cache_write: float | None = Field(
        default=None,
        description="Price of a million tokens sent that were written to the cache. Default: as `input`.",
        ge=0,
        allow_inf_nan=False,
    )

    def of(self, tokens: Tokens) -> float | None:
        """The cost of one answer; None when the server did not count."""
        if tokens.tokens_in is None or tokens.tokens_out is None:
            return None
        cached, written = tokens.tokens_cached or 0, tokens.tokens_written or 0
        total = max(0, tokens.tokens_in - cached - written) * self.input + tokens.tokens_out * self.output
        for count, price in ((cached, self.cached_input), (written, self.cache_write)):
            total += count * (self.input if price is None else price)
        return total / 1_000_000


Prices = Mapping[str, Price]
"""By the name of a model."""


def price_file(folder: Path) -> Path | None:
    """The price file that holds for a suite: the nearest from its folder upwards, else from the working folder."""
    places = (place / FILE for start in (folder, Path()) for place in (start.resolve(), *start.resolve().parents))
    return next((place for place in places if place.is_file()), None)


def read_prices(folder: Path) -> dict[str, Price]:
    """The prices that hold for a suite in that folder; SuiteError with all that is wrong with the file."""
    path = price_file(folder)
    if path is None:
        return {}
    try:
        located = read_yaml(text_of(path, str(path)), str(path))
    except ValueError as error:
        raise SuiteError([Problem(str(error))]) from None
    data, problems, prices = located.data, list(located.problems), {}
    if not isinstance(data, dict):
        raise SuiteError([located.problem(f"a price file is a group of models with their prices; {result(data)}")])
    for model, given in data.items():
        try:
            prices[str(model)] = Price.model_validate(given)
        except ValidationError as error:
            problems += [located.problem(item.message, item.place) for item in explain(error, given, Price, (model,))]
    if problems:
        raise SuiteError(problems)
    return prices


def price_of(settings: Any, prices: Prices, model: str | None = None) -> Price | None:
    """The price of a model: the one in the settings of who asks it, else that of the price file."""
    return getattr(settings, "price", None) or prices.get(model or str(getattr(settings, "model", "")))


def prices_used(asked: Iterable[tuple[Any, Iterable[str]]], prices: Prices) -> dict[str, dict[str, Any] | None]:
    """By model that is asked, its price as plain data, None where there is none; `asked` has settings and models."""
    priced = {model: price_of(settings, prices, model) for settings, models in asked for model in models}
    return {model: None if price is None else price.model_dump(exclude_none=True) for model, price in priced.items()}

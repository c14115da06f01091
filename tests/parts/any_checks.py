"""Checks and items of every kind, for property tests: all that a suite and a model may put into them."""

from __future__ import annotations

from hypothesis import strategies as st

from parts.any_judgements import data, texts
from steelyard.records import Check, CheckState, Item

figures = st.none() | st.floats(allow_nan=False)
any_checks = st.lists(
    st.builds(Check, texts, st.sampled_from(CheckState), texts, figures, figures, figures), max_size=4
).map(tuple)
any_items = st.none() | st.lists(st.builds(Item, texts, st.lists(data, max_size=3).map(tuple)), max_size=3).map(tuple)

"""Judgements of every kind, for property tests: all that a judge, a suite and a model may put into one."""

from __future__ import annotations

from hypothesis import strategies as st

from steelyard.records import CallResult, Failure, Finding, JudgeCall, Judgement, Mode, Remark, Vote

# Any character, and those that no database holds; no low surrogates, which a high one before them would swallow.
texts = st.text(st.one_of(st.characters(), st.sampled_from("\x00\x10\ud800\udbff")), max_size=8)
# The sum makes -0.0, which is the default of many fields as much as 0.0, to 0.0.
numbers = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
marks = st.dictionaries(texts, st.one_of(st.booleans(), numbers, st.integers(1, 5)), max_size=3)
data = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(texts, data, max_size=3)
modes = st.sampled_from([None, *Mode])
remarks = st.lists(st.builds(Remark, texts, texts, texts), max_size=2).map(tuple)
rules = st.dictionaries(texts, texts, max_size=2)
whole = st.integers(0, 2**63 - 1)
small = st.integers(0, 2**31 - 1)
call_results = st.builds(
    CallResult,
    text=st.none() | texts,
    status=st.none() | small,
    latency=numbers,
    started_at=numbers,
    tries=small,
    tokens_in=st.none() | whole,
    tokens_out=st.none() | whole,
    cost=st.none() | numbers,
    model=st.none() | texts,
    cached=st.booleans(),
    failure=st.none() | st.builds(Failure, texts, texts),
    first_byte=st.none() | numbers,
    queued=st.none() | numbers,
    first_token=st.none() | numbers,
    tokens_cached=st.none() | whole,
)
boxes = st.none() | st.tuples(*[st.floats(-1, 2)] * 4)
spans = st.none() | st.tuples(small, small)
findings = st.lists(
    st.builds(Finding, texts, texts, data, data, texts, texts, texts, st.floats(0, 1), boxes, spans, texts), max_size=2
).map(tuple)
ballots = st.builds(Vote, texts, small, modes, texts, marks, marks, rules, remarks, objects, texts, findings)
calls = st.lists(st.builds(JudgeCall, texts, small, small, call_results, st.booleans()), max_size=3).map(tuple)
any_judgements = st.builds(
    Judgement,
    mode=modes,
    votes=st.lists(ballots, max_size=2).map(tuple),
    uncapped=marks,
    capped=marks,
    capped_by=rules,
    remarks=remarks,
    findings=findings,
    metrics=objects,
    calls=calls,
    message=texts,
)

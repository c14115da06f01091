"""Answers are the same to the byte, or they are not; without one there is nothing to compare."""

from parts.stored import case, failed, header, sample
from steelyard.records import CallResult


def digests(store, *attempts):
    """One number for each attempt of a run; None is a call that failed."""
    store.create_run(header("demo-1"))
    cases = [case(number) for number in range(len(attempts))]
    made = [
        failed(of, k) if attempt is None else sample(of, k, call_result=attempt)
        for k, (of, attempt) in enumerate(zip(cases, attempts, strict=True))
    ]
    store.add_samples("demo-1", made, cases)
    return store.answer_digests("demo-1").tolist()


def test_equal_answers_have_one_number_and_others_another(store):
    texts = ["a", "a", "a ", "", "\ud800\x00", "\ud800\x00"]
    found = digests(store, *(CallResult(text=text) for text in texts))
    assert (found[0] == found[1], found[4] == found[5]) == (True, True)
    assert len(set(found)) == 4
    assert 0 not in found


def test_a_call_without_an_answer_has_none(store):
    assert digests(store, None, CallResult(text="a"))[0] == 0


def test_the_same_text_with_another_status_is_another_answer(store):
    one, other = digests(store, CallResult(text="a", status=200), CallResult(text="a", status=422))
    assert one != other

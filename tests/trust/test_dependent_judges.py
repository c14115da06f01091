"""Labels and judges that are not independent: labels of the judge itself, one labeler under two names, a prompt that
shows the label, and judges of the same model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from parts.command import invoke, steelyard
from parts.judge_server import judge_server
from parts.judged_suite import chat_judge, verdict, write_judged
from steelyard.suite.origins import model_alias, model_family

SCORES = [2 + k * 7 % 4 for k in range(60)]
"""2, 5, 4, 3, 2, ...: what the judge gives text k."""
GIVES = '2 + int("".join(filter(str.isdigit, text)) or 0) * 7 % 4'
NEARLY = [max(1, score - 1) if k % 10 == 0 else score for k, score in enumerate(SCORES)]
"""What a reviewer gives who differs from the judge by one point in every tenth text."""
FIT = {"health": ["agreement.clarity.kappa >= 0.6"]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEELYARD_STORE", raising=False)
    return tmp_path


def write(folder, label, n=60, gives=GIVES, fields=lambda k: {}, **judge):
    """A suite whose judge is code that gives text k a score; `fields` go over the fields of case k."""
    path = write_judged(folder / "judged", n=n, label=lambda k: {"clarity": label(k)}, **({"bind": []} | FIT | judge))
    module = path.with_name("measures.py")
    module.write_text(module.read_text().replace('2 if "muddle" in text else 3', gives))
    cases = path.with_name("cases.jsonl")
    rows = [json.loads(line) for line in cases.read_text().splitlines()]
    for k, row in enumerate(rows):
        for part, more in fields(k).items():
            row[part] = row.get(part, {}) | more if isinstance(more, dict) else more
    cases.write_text("".join(json.dumps(row) + "\n" for row in rows))


def checked(code):
    return json.loads(invoke("judge", "check", "judged", "--json", code=code))


@pytest.mark.parametrize("capped", [False, True])
def test_labels_that_are_the_judges_own_scores(folder, capped):
    # With a rule, the labels are the capped scores that the run shows.
    rule = ["when size.words >= 1 then clarity <= 4"] if capped else []
    write(folder, lambda k: min(4, SCORES[k]) if capped else SCORES[k], bind=rule)
    card = checked(4)
    assert card["verdict"] == "AMBIGUOUS"
    assert "clarity: the judge gives the label in 60 of 60 texts (agreement of 1.00)" in card["headline"]
    shown = " ".join(invoke("judge", "check", "judged", code=4).split())
    assert "This judge is fit" not in shown
    if not capped:
        assert "the judge gives the label in 60 of 60 texts" in " ".join(invoke("audit", "judged", code=1).split())


def test_scores_that_are_one_labelers(folder):
    # Ann's labels are the judge's own; the median of three people is not.
    others = [2 + k * 5 % 4 for k in range(60)]
    write(folder, lambda k: {"by": {"ann": SCORES[k], "ben": others[k], "cem": others[k - 1]}}, health=[])
    assert any("the judge gives ann's label in 60 of 60" in text for text in checked(4)["complaints"])


def test_a_good_judge_that_errs_in_some_texts_is_fit(folder):
    write(folder, lambda k: NEARLY[k])
    card = checked(0)
    assert (card["verdict"], card["health"]["dependent"]) == ("PASS", [])


def test_49_texts_are_too_few_to_tell(folder):
    write(folder, lambda k: SCORES[k], n=49)
    assert checked(0)["health"]["dependent"] == []


def test_two_labelers_that_are_one_file(folder):
    write(folder, lambda k: {"by": {"ann": NEARLY[k], "ben": NEARLY[k]}})
    card = checked(4)
    assert "clarity: ann and ben give the same score in all 60 texts: two names, one labeler" in card["complaints"]
    audited = " ".join(invoke("audit", "judged", code=1).split())
    assert "ann and ben give the same score in all 60 labels: two names, one labeler" in audited


def test_two_labelers_of_texts_that_are_all_alike_are_two(folder):
    write(folder, lambda k: {"by": {"ann": 4, "ben": 4}})
    assert "two names" not in " ".join(steelyard("audit", "judged", cwd=folder).stdout.split())


WORDS = ("poor", "fair", "good", "superb")
SHOWN = {
    "the label under another name": lambda k: {"input": {"rating": SCORES[k]}},
    "the label as a text": lambda k: {"input": {"note": f"case {k + 100}: reviewers gave a score of {SCORES[k]}"}},
    "the label in words": lambda k: {"input": {"quality": ["poor", "fair", "good", "superb"][SCORES[k] - 2]}},
    "the scale turned around": lambda k: {"input": {"faults": [{"n": 6 - SCORES[k]}]}},
    "the label in 59 of 60 cases": lambda k: {"input": {"rating": 2 if k == 1 else SCORES[k]}},
    "finer than the label": lambda k: {"input": {"bucket": f"b{2 * SCORES[k] + k % 2}"}},
    "a word of a sentence": lambda k: {"input": {"note": f"Reviewer {k + 100} found it {WORDS[SCORES[k] - 2]}."}},
    "a mean of several labels": lambda k: {"input": {"mean": SCORES[k] + (k * 37 % 60 - 30) / 100}},
    "as many marks": lambda k: {"input": {"marks": ["x"] * SCORES[k]}},
    "the name of a key": lambda k: {"input": {"info": {f"is_{WORDS[SCORES[k] - 2]}": k}}},
    "whether it passes": lambda k: {"input": {"meta": [{"approved": SCORES[k] >= 4}]}},
}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_prompt_that_shows_the_label(folder, kind):
    with judge_server(verdict(3)) as server:
        write(folder, lambda k: SCORES[k], fields=SHOWN[kind], **chat_judge(server))
        card = checked(1)
        assert card["headline"] == "This judge is not fit: its prompt shows it the labels"
        assert "the label of clarity" in card["leaks"][0]
        assert "in 60 labeled cases" in card["leaks"][0]
        audited = " ".join(invoke("audit", "judged", code=1).split())
        assert "the judge's prompt shows input." in audited


@pytest.mark.parametrize("name", [lambda k: f"{WORDS[SCORES[k] - 2]}-{k}", lambda k: f"case_{k + 100}_{SCORES[k]}"])
def test_an_id_that_shows_the_label(folder, name):
    with judge_server(verdict(3)) as server:
        write(
            folder,
            lambda k: SCORES[k],
            fields=lambda k: {"id": name(k)},
            user="Case {{ case.id }}: {{ text }}",
            **chat_judge(server),
        )
        answers = [{"case": name(k), "answer": f"Number {k} is fine."} for k in range(60)]
        Path("judged/answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
        audited = " ".join(invoke("audit", "judged", code=1).split())
        assert "the judge's prompt shows id, which contains the label of clarity in 60 labeled cases" in audited


def test_fields_that_tell_no_label_are_no_alarm(folder):
    # A running number goes with the labels where cases are sorted by them; words go with topics, not with labels.
    topics = ("tea", "ships", "maps")
    with judge_server(verdict(3)) as server:
        write(
            folder,
            lambda k: 2 + k // 15,
            fields=lambda k: {
                "input": {"at": k, "note": f"A {WORDS[k % 4]} text on {topics[k % 3]}", "pages": [1] * (k % 3)}
            },
            **chat_judge(server),
        )
        assert json.loads(steelyard("judge", "check", "judged", "--json", cwd=folder).stdout)["leaks"] == []


def test_a_slip_does_not_hide_whose_the_labels_are_and_is_counted(folder):
    # One of 300 differs: kappa is 0.997, shown as 1.00.
    scores = [2 + k * 7 % 4 for k in range(300)]
    write(folder, lambda k: scores[k] - (k == 7), n=300)
    assert "clarity: the judge gives the label in 299 of 300 texts (agreement of 1.00)" in checked(4)["headline"]


def test_a_template_that_shows_a_field_of_the_truth(folder):
    user = "Reference: {{ expected.gold }}\nMeasured: {{ metrics.size.words }}\n{{ text }}"
    with judge_server(verdict(3)) as server:
        write(
            folder,
            lambda k: SCORES[k],
            fields=lambda k: {"expected": {"gold": SCORES[k]}},
            user=user,
            **chat_judge(server),
        )
        assert checked(1)["leaks"][0].startswith("the judge's prompt shows expected.gold, which determines the label")


def test_a_field_that_no_prompt_shows_is_no_leak(folder):
    with judge_server(verdict(3)) as server:
        write(folder, lambda k: SCORES[k], fields=lambda k: {"expected": {"gold": SCORES[k]}}, **chat_judge(server))
        assert checked(1)["leaks"] == []


def test_fields_that_do_not_tell_the_label_are_no_leak(folder):
    fields = {"input": {"language": "de"}, "category": "a"}
    with judge_server(verdict(3)) as server:
        write(folder, lambda k: SCORES[k], fields=lambda k: fields, **chat_judge(server))
        assert checked(1)["leaks"] == []


def test_a_panel_whose_members_are_one(folder):
    write(folder, lambda k: NEARLY[k])
    path = folder / "judged" / "suite.yaml"
    suite = yaml.safe_load(path.read_text())
    suite["judge"] |= {
        "by": ["code", "copy"],
        "judges": {name: {"python": "measures:judge"} for name in ("code", "copy")},
    }
    path.write_text(yaml.safe_dump(suite, sort_keys=False))
    complaints = checked(4)["complaints"]
    assert (
        "judges code and copy give the same scores in all texts (60 scores): the panel has one vote twice" in complaints
    )


def panel(server, *models, target=None):
    if target is not None:
        server.by_model(target, "A plain text about a number.")
    judges = {f"j{k}": {"chat": {"base_url": server.base_url, "model": model}} for k, model in enumerate(models)}
    suite = (
        {}
        if target is None
        else {
            "target": {
                "chat": {
                    "base_url": server.base_url,
                    "model": target,
                    "user": "Say something about {{ input.number }}.",
                }
            }
        }
    )
    return {"by": list(judges), "judges": judges, "suite": suite}


def test_judges_of_one_model_family_are_reported_with_the_verdict(folder):
    with judge_server(verdict(3), verdict(4)) as server:
        write(folder, lambda k: SCORES[k], n=12, **panel(server, "gpt-4o", "openai/gpt-4o-2024-08-06"))
        found = json.loads(invoke("run", "judged", "--json", code=4))  # its kappa is below the suite's limit
        told = "judges gpt-4o and openai/gpt-4o-2024-08-06 of the panel are of one model family (gpt-4o)"
        assert any(told in each for each in found["disclosures"]), found["disclosures"]
        assert told in " ".join(invoke("audit", "judged", code=1).split())
        assert any(told in each for each in checked(1)["complaints"]), checked(1)["complaints"]


def test_a_judge_of_the_systems_family_and_address_is_reported(folder):
    with judge_server(verdict(3), verdict(4)) as server:
        write(folder, lambda k: SCORES[k], n=12, **panel(server, "m:7b", target="m:70b"))
        found = json.loads(invoke("run", "judged", "--json", code=4))
        assert any(
            "judge m:7b and the system under test are of one model family (m)" in each for each in found["disclosures"]
        )
        write(folder / "other", lambda k: SCORES[k], n=12, **panel(server, "k", target="m"))
        found = json.loads(invoke("run", "other/judged", "--json", code=4))
        assert any("judge k and the system under test share the address" in each for each in found["disclosures"])


@pytest.mark.parametrize(("judge", "target"), [("m:latest", "m"), ("m", "vendor/m"), ("gpt-4o", "gpt-4o-2024-08-06")])
def test_the_system_under_another_spelling_is_not_its_own_judge(folder, judge, target):
    with judge_server(verdict(3)) as server:
        write(folder, lambda k: SCORES[k], n=12, **panel(server, judge, target=target))
        assert "is the system under test itself" in " ".join(invoke("run", "judged", code=2).split())


@pytest.mark.parametrize(
    ("name", "alias", "family"),
    [
        ("m:latest", "m", "m"),
        ("openai/gpt-4o-2024-08-06", "gpt-4o", "gpt-4o"),
        ("gpt-4o-mini", "gpt-4o-mini", "gpt-4o"),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet", "claude-3-5-sonnet"),
        ("qwen2.5:7b-instruct", "qwen2.5:7b-instruct", "qwen2.5"),
        ("Qwen/Qwen2.5-72B-Instruct", "qwen2.5-72b-instruct", "qwen2.5"),
        ("judge-1", "judge-1", "judge-1"),
    ],
)
def test_names_of_models(name, alias, family):
    assert (model_alias(name), model_family(name)) == (alias, family)


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo", "llama3.1:70b", True),
        ("us.meta.llama3-1-8b-instruct-v1:0", "llama3.1", True),
        ("microsoft/phi-3-mini-128k-instruct", "phi3:mini", True),
        ("mistral-7b-instruct-v0.2", "mistral:7b", True),
        ("ft:gpt-4o-mini-2024-07-18:acme::abc", "gpt-4o", True),
        ("openai:chat:gpt-4o", "gpt-4o", True),
        ("openai:gpt-4o", "openai:o3", False),
        ("ft:gpt-4o:acme::a", "ft:o3:acme::b", False),
        ("gpt-4", "gpt-4o", False),
        ("llama3", "llama3.1", False),
        ("qwen2.5-coder:7b", "qwen2.5:7b", False),
    ],
)
def test_one_family_in_other_spellings_and_two_families_of_one_provider(folder, one, other, is_one):
    with judge_server(verdict(3), verdict(4)) as server:
        write(folder, lambda k: SCORES[k], n=12, **panel(server, one, other))
        assert (
            "of the panel are of one model family" in " ".join(steelyard("audit", "judged", cwd=folder).stdout.split())
        ) == is_one

"""The cards suite from the photo's bytes to the exit code, against a model that reads by knowing the photos."""

import base64
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

import steelyard.suites
from parts.command import steelyard as run_steelyard
from parts.counts import findings_in, outcomes_in
from parts.loopback import Loopback, chat_answer
from steelyard.loading.load import load_suite
from steelyard.records import Outcome
from steelyard.scoring.evaluate import Evaluator

FOLDER = Path(steelyard.suites.__file__).parent / "cards"
TRUTH = json.loads((FOLDER / "truth.json").read_text("utf-8"))
PHOTO_OF = {hashlib.sha256(path.read_bytes()).hexdigest(): path.stem for path in (FOLDER / "photos").glob("*.jpg")}
NOISE = "load_model: 28 blocks {%- if tools %}\n```json\n%s\n```\nperf: total time = 4122 ms\n"


def shape_asked(prompt):
    return "boxes" if '"box"' in prompt else "rows" if '"row"' in prompt else "piles"


def in_shape(shape, piles):
    """Piles of (text, box) as an answer in the shape that a prompt asks for."""
    if shape == "piles":
        return {
            "piles": [{"label": f"Pile {n}", "cards": [text for text, _ in cards]} for n, cards in enumerate(piles)]
        }
    if shape == "rows":
        return {"cards": [{"text": text, "row": n} for n, cards in enumerate(piles) for text, _ in cards]}
    return {
        "cards": [{"text": text, "box": [round(1000 * side) for side in box]} for cards in piles for text, box in cards]
    }


class Model:
    """Answers from the truth of the photo it was really sent, spoilt by `change(photo, shape, nth, piles)`."""

    def __init__(self, change=lambda photo, shape, nth, piles: piles):
        self.change = change
        self.asked = Counter()
        self.text_of = lambda answer: NOISE.replace("%s", json.dumps(answer, indent=1))

    def __call__(self, seen):
        text, image = seen.json["messages"][-1]["content"]
        head, _, data = image["image_url"]["url"].partition(",")
        assert head == "data:image/jpeg;base64"
        photo = PHOTO_OF[hashlib.sha256(base64.b64decode(data)).hexdigest()]
        shape = shape_asked(text["text"])
        nth = self.asked[photo, shape]
        self.asked[photo, shape] += 1
        piles = [[(card["text"], card["box"]) for card in pile["cards"]] for pile in TRUTH[photo]["piles"]]
        changed = self.change(photo, shape, nth, piles)
        return chat_answer(changed if isinstance(changed, str) else self.text_of(in_shape(shape, changed)))


def evaluate(tmp_path, model, *more):
    with Loopback() as server:
        server.on("/v1/chat/completions", model)
        given = ["--target", "chat", "--base-url", f"{server.base_url}/v1", "--concurrency", 1, "--json"]
        done = run_steelyard("run", "cards", *given, *more, cwd=tmp_path)
    assert done.returncode in (0, 1, 4), done.stderr
    return done.returncode, json.loads(done.stdout)


def verdicts(report):
    return {gate["name"]: gate["verdict"] for gate in report["gates"]}


def measure(report, name):
    return report["figures"][f"score.cards.{name}"]


def spoil(share):
    """Puts a letter too many into that share of a photo's texts."""

    def change(photo, shape, nth, piles):
        count = round(share * sum(map(len, piles)))
        texts = iter(range(10_000))
        return [[(text + "q" if next(texts) < count else text, box) for text, box in cards] for cards in piles]

    return change


def test_every_photo_reaches_the_model_byte_for_byte_in_every_shape_and_the_truth_passes(tmp_path):
    model = Model()
    code, report = evaluate(tmp_path, model, "--repeats", 3)
    assert (code, report["verdict"]) == (0, "PASS")
    assert model.asked == {(photo, shape): 3 for photo in TRUTH for shape in ("piles", "boxes", "rows")}
    assert set(verdicts(report).values()) == {"PASS"}
    visible = sum(entry["total_cards_visible"] for entry in TRUTH.values())
    assert (measure(report, "text")["numerator"], measure(report, "text")["denominator"]) == (9 * visible, 9 * visible)
    # The JSON stood inside noise: the report shows what was read out of it.
    assert {sample["step"] for sample in report["samples"]} == {"fenced"}
    assert all(sample["read"].keys() <= {"piles", "cards"} for sample in report["samples"])
    # Piles made from boxes alone: what the core's own grouping makes of the true outlines.
    assert measure(report, "grouping")["value"] == 1


@pytest.mark.parametrize(("share", "code", "verdict"), [(0.1, 0, "PASS"), (0.3, 4, "AMBIGUOUS"), (0.5, 1, "FAIL")])
def test_text_decides_at_80_and_60_percent(tmp_path, share, code, verdict):
    ended, report = evaluate(tmp_path, Model(spoil(share)), "--repeats", 1, "--only", "variant=piles")
    assert (ended, report["verdict"]) == (code, verdict)
    assert findings_in(report).keys() == {"OCR"}


@pytest.mark.parametrize(("samples", "code", "verdict"), [(0, 0, "PASS"), (1, 4, "AMBIGUOUS"), (2, 1, "FAIL")])
def test_an_invented_card_once_is_ambiguous_and_twice_a_failure(tmp_path, samples, code, verdict):
    inventive = sorted(TRUTH)[:samples]

    def change(photo, shape, nth, piles):
        return (
            [*piles[:-1], [*piles[-1], ("A pony that I never had", [0, 0, 0.1, 0.1])]] if photo in inventive else piles
        )

    ended, report = evaluate(tmp_path, Model(change), "--repeats", 1, "--only", "variant=piles")
    assert (ended, report["verdict"]) == (code, verdict)
    assert findings_in(report).get("HALLUC", 0) == samples


@pytest.mark.parametrize(("broken", "verdict"), [(1, "PASS"), (2, "FAIL")])
def test_json_must_be_valid_in_two_of_three_runs_and_only_signals(tmp_path, broken, verdict):
    def change(photo, shape, nth, piles):
        return '{"piles": [{"label": "left", "cards": ["Cut' if photo == "01-easy" and nth < broken else piles

    ended, report = evaluate(tmp_path, Model(change), "--repeats", 3, "--only", "variant=piles", "--limit", 8)
    assert verdicts(report)["json"] == verdict
    assert ended == 0
    # One error for the answer, not one a card; its cards stay in the denominators.
    assert findings_in(report) == {"FORMAT": broken}
    missing = broken * TRUTH["01-easy"]["total_cards_visible"]
    assert measure(report, "text")["denominator"] - measure(report, "text")["numerator"] == missing


def test_one_malformed_answer_in_three_is_no_matter_of_reading_the_cards(tmp_path):
    def change(photo, shape, nth, piles):
        return '{"piles": [{"label": "left", "cards": ["Cut' if nth == 1 else piles

    ended, report = evaluate(tmp_path, Model(change), "--repeats", 3, "--only", "variant=piles", "--limit", 8)
    assert ended == 0
    assert verdicts(report) == dict.fromkeys(("text", "invention", "readable", "grouping", "json"), "PASS")
    # Of 3 x 85 cards on 8 photos all were read in two answers of three.
    assert [measure(report, name)["value"] for name in ("text", "text.readable")] == [pytest.approx(2 / 3), 1]
    assert (measure(report, "text.readable")["n"], measure(report, "text.readable")["n_missing"]) == (16, 8)


@pytest.mark.parametrize(("valid", "ended", "verdict"), [(12, 4, "AMBIGUOUS"), (11, 1, "FAIL"), (0, 1, "FAIL")])
def test_a_few_readable_answers_do_not_pass_for_the_others(tmp_path, valid, ended, verdict):
    broken = sorted(TRUTH)[valid:]

    def change(photo, shape, nth, piles):
        return "No JSON here" if photo in broken else piles

    code, report = evaluate(tmp_path, Model(change), "--repeats", 1, "--only", "variant=piles")
    assert (code, verdicts(report)["readable"]) == (ended, verdict)


def test_with_one_run_a_prompt_the_json_criterion_is_undecided(tmp_path):
    code, report = evaluate(tmp_path, Model(), "--repeats", 1, "--limit", 2)
    assert verdicts(report)["json"] == "AMBIGUOUS"
    assert code == 0


def test_the_best_prompt_is_named_only_beyond_noise(tmp_path):
    def worse_in_rows(photo, shape, nth, piles):
        return spoil(0.25)(photo, shape, nth, piles) if shape == "rows" else piles

    _, clear = evaluate(tmp_path, Model(worse_in_rows), "--repeats", 1, "--limit", 12)
    assert clear["best_variant"]["best"] is None, "piles and boxes are equally good"
    assert [one["variant"] for one in clear["by_variant"]] == ["piles", "boxes", "rows"]
    assert [one["verdict"] for one in clear["by_variant"]] == ["PASS", "PASS", "AMBIGUOUS"]

    def best_in_piles(photo, shape, nth, piles):
        return piles if shape == "piles" else spoil(0.25)(photo, shape, nth, piles)

    _, best = evaluate(tmp_path, Model(best_in_piles), "--repeats", 1, "--limit", 12)
    assert best["best_variant"]["best"] == "piles"


@pytest.fixture(scope="module")
def evaluator():
    suite = load_suite("cards")
    return Evaluator(suite), {case.id: case for case in suite.cases}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"cards": [{"text": "Fair play"}]}, "FORMAT"),
        ({"piles": [{"name": "left", "cards": ["Fair play"]}]}, "FORMAT"),
        ({"stacks": []}, "FORMAT"),
        ([], "FORMAT"),
        ({"piles": []}, "MISS"),
    ],
)
def test_wrong_field_names_are_format_errors(evaluator, answer, code):
    weigh_one, cases = evaluator
    weighed = weigh_one.evaluate(json.dumps(answer), cases["01-easy"])
    assert {finding.code for finding in weighed.findings} == {code}
    assert weighed.score == 0


def test_the_seeds_examples_get_the_seeds_codes(evaluator):
    weigh_one, cases = evaluator
    left, right = ([card["text"] for card in pile["cards"]] for pile in TRUTH["01-easy"]["piles"])
    # left: To forgive my father, Fair play, Loud Saturdays, To be the one who stays calm; right: To forgive my
    # neighbor, Enough, and no more, Being early, A dog at my feet
    assert (left[0], left[3], right[3]) == ("To forgive my father", "To be the one who stays calm", "A dog at my feet")
    answer = {
        "piles": [
            {"label": "left", "cards": ["To forgive my fater", left[1], left[2], "to be the one who", "The moon"]},
            {"label": "right", "cards": [right[0], right[1], right[1]]},
            {"label": "center", "cards": [right[2]]},
        ]
    }
    weighed = weigh_one.evaluate(json.dumps(answer), cases["01-easy"])
    found = sorted((finding.code, finding.expected or "", finding.got or "") for finding in weighed.findings)
    assert found == [
        ("HALLUC", "", "Enough, and no more"),
        ("HALLUC", "", "The moon"),
        ("MISS", "A dog at my feet", ""),
        ("OCR", "To forgive my father", "To forgive my fater"),
        ("PARTIAL", "To be the one who stays calm", "to be the one who"),
        ("SPATIAL", "Being early", "Being early"),
    ]
    # Right in text and pile: 2 of left, 2 of right; of 8.
    assert weighed.score == pytest.approx(4 / 8)


def test_boxes_with_named_edges_are_read_and_others_are_named(evaluator):
    weigh_one, cases = evaluator
    cards = [card for pile in TRUTH["01-easy"]["piles"] for card in pile["cards"]]
    edges = ("x_min", "y_min", "x_max", "y_max")
    answer = [{"text": card["text"], "box": dict(zip(edges, card["box"], strict=True))} for card in cards]
    counts = weigh_one.evaluate(json.dumps({"cards": answer}), cases["01-easy"]).scores[0].counts
    assert (counts["grouped"], counts["groupable"], counts["boxes_unread"]) == (8, 8, 0)
    answer = [{"text": card["text"], "box": {"corner": 1}} for card in cards]
    weighed = weigh_one.evaluate(json.dumps({"cards": answer}), cases["01-easy"])
    assert [finding.code for finding in weighed.findings] == ["SPATIAL"] * 8
    assert weighed.findings[0].evidence == 'its box cannot be read: {"corner": 1}; belongs to left'
    assert weighed.scores[0].note.endswith('no groups given; 8 of 8 boxes cannot be read, such as {"corner": 1}')
    # A box that is no box costs its own place and no card's text; null is none, and the others are counted.
    for odd, unread in ((None, 7), ("left", 8), ([1], 8)):
        answer[0] = {"text": cards[0]["text"], "box": odd}
        weighed = weigh_one.evaluate(json.dumps({"cards": answer}), cases["01-easy"])
        assert (weighed.outcome, weighed.scores[0].counts["boxes_unread"]) == (Outcome.SCORED, unread), odd


def test_fragments_below_half_are_partial_and_two_letters_are_no_reading(evaluator):
    weigh_one, cases = evaluator
    left, right = ([card["text"] for card in pile["cards"]] for pile in TRUTH["01-easy"]["piles"])
    # "stays calm" has 10 of 28 letters; "To" is on five cards: not invented, and a reading of none.
    answer = {
        "piles": [{"label": "left", "cards": [*left[:3], "stays calm", "To"]}, {"label": "right", "cards": right}]
    }
    weighed = weigh_one.evaluate(json.dumps(answer), cases["01-easy"])
    assert [(finding.code, finding.got) for finding in weighed.findings] == [
        ("PARTIAL", "stays calm"),
        ("PARTIAL", "To"),
    ]
    assert weighed.scores[0].counts["matched"] == len(left[:3]) + 1 + len(right)


def test_letter_case_and_one_pile_a_card_are_no_surprise(evaluator):
    weigh_one, cases = evaluator
    texts = [card["text"].upper() for pile in TRUTH["01-easy"]["piles"] for card in pile["cards"]]
    one_each = {"piles": [{"label": text, "cards": [text]} for text in texts]}
    counts = weigh_one.evaluate(NOISE.replace("%s", json.dumps(one_each)), cases["01-easy"]).scores[0].counts
    assert (counts["read"], counts["matched"], counts["grouped"]) == (8, 8, 2)


def copy_of_the_suite(tmp_path):
    copied = tmp_path / "mine"
    shutil.copytree(FOLDER, copied, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return copied


def test_a_truth_of_piles_and_plain_texts_alone_is_read_in_a_copy_of_the_suite(tmp_path):
    copied = copy_of_the_suite(tmp_path)
    piles = [
        {"label": "top-row", "cards": ["To die at home", "Wild Card"]},
        {"label": "bottom-row", "cards": ["To be kept clean"]},
    ]
    (copied / "truth.json").write_text(json.dumps({"01-easy": {"layout": "2 rows", "piles": piles}}))
    (case,) = load_suite(copied).cases
    assert (case.id, case.difficulty, case.tags) == ("01-easy", None, ())
    weighed = Evaluator(load_suite(copied)).evaluate(json.dumps({"piles": piles}), case)
    assert (weighed.score, weighed.findings) == (1, ())


def test_bad_photos_fail_their_own_case_and_the_run_goes_on(tmp_path):
    copied = copy_of_the_suite(tmp_path)
    photos = {number: copied / f"photos/0{number}-easy.jpg" for number in range(1, 6)}
    photos[1].unlink()
    photos[2].write_bytes(b"")
    photos[3].write_bytes(photos[3].read_bytes()[:20_000])
    Image.new("1", (10_000, 10_000)).save(photos[4], "PNG")
    photos[5].write_text("<html>not found</html>")
    model = Model()
    with Loopback() as server:
        server.on("/v1/chat/completions", model)
        given = ["--target", "chat", "--base-url", f"{server.base_url}/v1", "--repeats", 1, "--only", "variant=piles"]
        done = run_steelyard("run", copied, *given, "--max-inconclusive", 0.3, "--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    # 5 of 24 could turn the gates, however many the run may miss.
    assert (done.returncode, report["verdict"]) == (4, "AMBIGUOUS")
    assert outcomes_in(report) == {"scored": 19, "target_failed": 5}
    assert report["figures"]["failures.bad_attachment"]["value"] == 5
    assert sum(model.asked.values()) == 19
    told = {sample["case_id"]: sample["why"] for sample in report["samples"] if sample["outcome"] == "target_failed"}
    said = ["there is no file", "is empty", "is cut off", "10,000 x 10,000 pixels", "is not an image"]
    for number, words in enumerate(said, 1):
        assert words in told[f"0{number}-easy"]


def test_a_card_in_two_piles_of_the_truth_is_refused_when_the_suite_loads(tmp_path):
    copied = copy_of_the_suite(tmp_path)
    truth = json.loads(json.dumps({"01-easy": TRUTH["01-easy"]}))
    truth["01-easy"]["piles"][1]["cards"][0]["text"] = "fair PLAY"
    (copied / "truth.json").write_text(json.dumps(truth, indent=1))
    done = run_steelyard("run", copied, cwd=tmp_path)
    assert done.returncode == 2
    assert "'fair PLAY' is in two groups, left and right: an item has one place" in done.stderr
    assert "truth.json" in done.stderr


# boxes as models write them


@pytest.mark.parametrize("key", ["bbox", "bbox_2d", "box_2d", "bounding_box", "boundingBox"])
def test_boxes_under_the_keys_that_models_use_are_read(tmp_path, key):
    def with_key(answer):
        for card in answer.get("cards", []):
            if "box" in card:
                left, top, right, bottom = card.pop("box")
                # Gemini writes box_2d as top, left, bottom, right; the others begin with the left edge.
                card[key] = [top, left, bottom, right] if key == "box_2d" else [left, top, right, bottom]
        return NOISE.replace("%s", json.dumps(answer))

    model = Model()
    model.text_of = with_key
    code, report = evaluate(tmp_path, model, "--repeats", 1, "--only", "variant=boxes", "--limit", 3)
    assert code == 0, report["verdict"]
    assert measure(report, "grouping")["value"] == 1
    assert measure(report, "unread_boxes")["numerator"] == 0


def test_a_fragment_of_a_card_decides_nothing(tmp_path):
    """Every photo's first card is read as a whole and its last word once more: no card is invented."""

    def change(_photo, _shape, _nth, piles):
        (text, box), *others = piles[0]
        return [[(text, box), (text.split()[-1], box), *others], *piles[1:]]

    code, report = evaluate(tmp_path, Model(change), "--repeats", 1, "--only", "variant=piles", "--limit", 4)
    assert verdicts(report)["invention"] == "PASS"
    assert code == 0
    assert {sample["findings"][0]["code"] for sample in report["samples"]} == {"PARTIAL"}


def test_show_begins_with_the_part_of_a_long_response_that_was_read(tmp_path):
    model = Model()
    text_of, log = model.text_of, "llama_model_loader: - kv {%- if x %} [0.1\n" * 300
    model.text_of = lambda answer: log + text_of(answer)
    evaluate(tmp_path, model, "--repeats", 1, "--only", "variant=piles", "--limit", 1)
    shown = run_steelyard("show", "LAST", "01-easy", cwd=tmp_path).stdout
    answer = shown.partition("\nAnswer\n")[2]
    assert answer.split()[:2] == ["{", '"piles":']
    assert "llama_model_loader" not in shown
    assert "--full shows all" in shown
    assert "llama_model_loader" in run_steelyard("show", "LAST", "01-easy", "--full", cwd=tmp_path).stdout

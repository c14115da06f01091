"""The built-in readers look at real photos with real engines."""

import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from steelyard import Attachment, Case, UsageError
from steelyard.errors import install_command
from steelyard.suite_code import find_callable
from steelyard.suites import cards

FOLDER = Path(cards.__file__).parent
TRUTH = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))
OLDER_MISSING = importlib.util.find_spec("rapidocr_onnxruntime") is None
TESSERACT_MISSING = shutil.which("tesseract") is None
needs_older = pytest.mark.skipif(OLDER_MISSING, reason="rapidocr-onnxruntime is not installed: steelyard[ocr-old]")
needs_tesseract = pytest.mark.skipif(TESSERACT_MISSING, reason="the program tesseract is not installed")


class Prompt:
    """A variant as the core gives it."""

    def __init__(self, name=""):
        self.name, self.values = name, {}


def reader(module):
    return find_callable(f"steelyard.suites.cards.reading.{module}:read", FOLDER)


def photo_case(name):
    return Case(id=name, attachments=(Attachment(f"photos/{name}.jpg", "image/jpeg"),))


def folded(text):
    return re.sub(r"[\W_]", "", text.lower())


def share_read(answer, name):
    """The share of the photo's cards whose text was read right, but for case, spaces and punctuation."""
    read = Counter(folded(card["text"]) for pile in answer["piles"] for card in pile["cards"])
    truth = Counter(folded(card["text"]) for pile in TRUTH[name]["piles"] for card in pile["cards"])
    return (read & truth).total() / truth.total()


@pytest.fixture(scope="module")
def easy():
    """What rapidocr reads on the first photo."""
    return reader("rapidocr_3")(photo_case("01-easy"), variant=Prompt(), folder=FOLDER)


def test_rapidocr_reads_an_easy_photo_and_tells_its_piles(easy):
    assert share_read(easy, "01-easy") >= 7 / 8
    assert [(pile["label"], len(pile["cards"])) for pile in easy["piles"]] == [("left", 4), ("right", 4)]


def test_rapidocr_reads_cards_that_stand_on_their_head():
    name = "17-hard"
    assert "upside-down" in TRUTH[name]["tags"]
    answer = reader("rapidocr_3")(photo_case(name), variant=Prompt(), folder=FOLDER)
    assert share_read(answer, name) >= 0.75


def test_two_threads_read_what_one_reads_in_the_shape_each_prompt_asks_for(easy):
    read = reader("rapidocr_3")
    asks = [(photo_case("01-easy"), Prompt("boxes"), FOLDER), (photo_case("01-easy"), Prompt("rows"), FOLDER)]
    with ThreadPoolExecutor(2) as threads:
        boxes, rows = threads.map(lambda ask: read(*ask), asks)
    alone = [card for pile in easy["piles"] for card in pile["cards"]]
    assert sorted(boxes["cards"], key=str) == sorted(alone, key=str)
    # Two piles of four cards, side by side.
    assert sorted(card["text"] for card in rows["cards"]) == sorted(card["text"] for card in alone)
    assert [card["row"] for card in rows["cards"]] == [1, 1, 1, 1, 2, 2, 2, 2]


@needs_older
def test_the_older_rapidocr_reads_an_easy_photo():
    answer = reader("rapidocr_1")(photo_case("01-easy"), variant=Prompt(), folder=FOLDER)
    assert share_read(answer, "01-easy") >= 6 / 8


@needs_tesseract
def test_tesseract_reads_an_easy_photo():
    answer = reader("tesseract")(photo_case("01-easy"), variant=Prompt(), folder=FOLDER)
    assert share_read(answer, "01-easy") >= 4 / 8


@needs_tesseract
def test_tesseract_words_far_apart_are_two_lines_and_doubtful_ones_none():
    lines_from = importlib.import_module("steelyard.suites.cards.reading.tesseract").lines_from
    head = (
        *("level", "page_num", "block_num", "par_num", "line_num", "word_num"),
        *("left", "top", "width", "height", "conf", "text"),
    )
    rows = [
        (5, 1, 1, 1, 1, 1, 100, 50, 40, 20, 96.1, "To"),
        (5, 1, 1, 1, 1, 2, 150, 50, 60, 20, 95.0, "live"),
        (5, 1, 1, 1, 1, 3, 300, 50, 50, 20, 91.0, "Fair"),  # 90 pixels after "live"
        (5, 1, 2, 1, 1, 1, 600, 90, 50, 20, 12.0, "~|"),
        (4, 1, 3, 1, 1, 0, 0, 0, 50, 20, -1, ""),
    ]
    table = "\n".join("\t".join(map(str, row)) for row in [head, *rows])
    assert [line.text for line in lines_from(table)] == ["To live", "Fair"]


def test_a_photo_taken_with_the_phone_on_its_side_is_turned_first(tmp_path):
    open_photo = importlib.import_module("steelyard.suites.cards.reading.answers").open_photo
    picture = Image.new("RGB", (40, 20), "red")
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held so that the picture must be turned by 90 degrees
    picture.save(tmp_path / "p.jpg", exif=exif)
    with open_photo(Case(id="p", attachments=(Attachment("p.jpg", "image/jpeg"),)), tmp_path) as opened:
        assert opened.size == (20, 40)


@pytest.mark.parametrize(
    ("module", "engine", "extra"),
    [
        ("rapidocr_3", "rapidocr", "ocr"),
        ("rapidocr_1", "rapidocr_onnxruntime", "ocr-old"),
    ],
)
def test_a_missing_engine_is_reported_when_the_target_is_opened(monkeypatch, module, engine, extra):
    monkeypatch.setitem(sys.modules, engine, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, f"steelyard.suites.cards.reading.{module}", raising=False)
    with pytest.raises(UsageError, match=re.escape(install_command(extra))):
        reader(module)


def test_a_missing_program_is_reported_when_the_target_is_opened(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delitem(sys.modules, "steelyard.suites.cards.reading.tesseract", raising=False)
    with pytest.raises(UsageError, match="apt install tesseract-ocr"):
        reader("tesseract")


def test_rapidocr_is_silent_also_on_a_photo_without_text(tmp_path):
    Image.new("RGB", (300, 200), "white").save(tmp_path / "blank.png")
    script = """
from pathlib import Path
from types import SimpleNamespace
from steelyard import Attachment, Case
from steelyard.suites.cards.reading.rapidocr_3 import read
case = Case(id="blank", attachments=(Attachment("blank.png", "image/png"),))
assert read(case, SimpleNamespace(name="boxes"), Path.cwd()) == {"cards": []}
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

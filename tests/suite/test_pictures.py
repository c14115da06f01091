"""Pictures: what is wrong with one is told in a sentence, and a bomb is never decoded."""

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image, ImageOps, JpegImagePlugin

from parts.photos import bad_photos, bomb_bytes, noise, photo_bytes
from steelyard.loading.load import load_suite
from steelyard.suite.case import Attachment, Case
from steelyard.suite.files import media_type_of, picture_problem, picture_size, read_attachments, unsendable

MOST = 64_000_000
KINDS = {
    "png": ("PNG", {}),
    "jpeg": ("JPEG", {}),
    "progressive jpeg": ("JPEG", {"progressive": True}),
    "webp": ("WEBP", {}),
    "lossless webp": ("WEBP", {"lossless": True}),
    "gif": ("GIF", {}),
    "bmp": ("BMP", {}),
    "tiff": ("TIFF", {}),
    "packed tiff": ("TIFF", {"compression": "tiff_lzw"}),
}


@pytest.fixture
def photo(tmp_path):
    """Writes bytes into a new file and gives its path."""
    count = iter(range(10_000))

    def write(data):
        path = tmp_path / f"{next(count)}.bin"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.boundary("pillow")
@pytest.mark.parametrize(("format_", "options"), KINDS.values(), ids=KINDS)
def test_a_whole_picture_has_no_problem(photo, format_, options):
    path = photo(photo_bytes(format_, **options))
    assert picture_problem(path, max_pixels=MOST) is None
    assert picture_size(path) == (40, 30)


@pytest.mark.boundary("pillow")
@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "I;16", "CMYK"])
def test_pictures_of_every_depth_are_good(photo, mode):
    format_ = "JPEG" if mode == "CMYK" else "PNG"
    picture = noise().convert(mode) if mode != "I;16" else Image.new("I;16", (40, 30), 777)
    assert picture_problem(photo(photo_bytes(format_, picture)), max_pixels=MOST) is None


@pytest.mark.parametrize(("format_", "options"), KINDS.values(), ids=KINDS)
def test_a_picture_cut_off_anywhere_is_reported(photo, format_, options):
    whole = photo_bytes(format_, **options)
    # All is there before the last bytes: of a GIF an empty block and a mark, of a PNG the checksum of its closing mark.
    last = len(whole) - {"GIF": 2, "PNG": 4}.get(format_, 0) - 1
    for length in [*range(40, last, 97), last]:
        told = picture_problem(photo(whole[:length]), max_pixels=MOST)
        assert told is not None, f"cut after {length} of {len(whole)}"
        assert "cut off" in told


def test_of_a_webp_it_is_reported_how_much_is_there(photo):
    whole = photo_bytes("WEBP")
    told = picture_problem(photo(whole[:500]), max_pixels=MOST)
    assert told == f"is cut off: 500 of {len(whole):,} bytes are there"


@pytest.mark.boundary("pillow")
def test_a_damaged_picture_is_reported(photo):
    whole = bytearray(photo_bytes("PNG"))
    whole[len(whole) // 2] ^= 0xFF
    assert picture_problem(photo(bytes(whole)), max_pixels=MOST).startswith("is damaged or cut off: its PNG data")


@pytest.mark.parametrize(("format_", "options"), KINDS.values(), ids=KINDS)
def test_whatever_is_damaged_nothing_is_raised(photo, format_, options):
    chance = random.Random(5)
    whole = photo_bytes(format_, **options)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[chance.randrange(200)] = chance.choice((0, 127, 255))
        path = photo(bytes(damaged))
        assert picture_problem(path, max_pixels=MOST) != ""
        assert picture_size(path) is None or all(side > 0 for side in picture_size(path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"<html>", "begins with '<html>'"),
        (b"%PDF-1.7 and so on, for long", "begins with '%PDF-1.7 and so '"),
        (b"\x00\x01\xfe\xff" * 10, "begins with the bytes 00 01 fe ff 00 01 fe ff"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "is a pointer of Git LFS"),
        (b"BM is how this text begins", "is cut off: its BMP data ends early, after 26 bytes"),
    ],
)
def test_what_is_not_a_picture_is_reported_by_its_first_bytes(photo, data, message):
    path = photo(data)
    assert message in picture_problem(path, max_pixels=MOST)
    assert picture_size(path) is None


def test_what_is_not_a_file_is_reported(tmp_path):
    assert picture_problem(tmp_path / "none.png", max_pixels=MOST) == "does not exist"
    assert picture_problem(tmp_path, max_pixels=MOST) == "is a folder, not a file"
    assert picture_size(tmp_path / "none.png") is picture_size(tmp_path) is None
    os.mkfifo(tmp_path / "pipe")
    assert picture_problem(tmp_path / "pipe", max_pixels=MOST) == "is not a regular file"


def test_the_limit_is_the_last_number_of_pixels_that_is_allowed(photo):
    path = photo(photo_bytes())  # 40 x 30 = 1,200
    assert picture_problem(path, max_pixels=1200) is None
    assert picture_problem(path, max_pixels=1199) == "has 40 x 30 pixels, more than the 1,199 allowed"


def test_a_gif_whose_frame_is_larger_than_it_says_is_measured_by_the_frame(photo):
    whole = bytearray(photo_bytes("GIF"))
    whole[6:10] = b"\x01\x00\x01\x00"  # the screen is 1 x 1, the frame on it still 40 x 30
    assert picture_problem(photo(bytes(whole)), max_pixels=1199).startswith("has 40 x 30 pixels")


@pytest.mark.boundary("pillow")
@pytest.mark.parametrize("side", [16_000, 16_383])
def test_a_webp_beyond_pillows_own_limit_is_reported(photo, side):
    whole = bytearray(photo_bytes("WEBP", lossless=True))
    # Width and height less one, 14 bits each, after the signature of a lossless picture.
    assert whole[20] == 0x2F
    kept = int.from_bytes(whole[21:25], "little") >> 28 << 28
    whole[21:25] = (kept | (side - 1) << 14 | (side - 1)).to_bytes(4, "little")
    assert "pixels" in picture_problem(photo(bytes(whole)), max_pixels=MOST)


@pytest.mark.boundary("pillow")
def test_a_bomb_is_reported_by_its_header_and_never_decoded(photo):
    path = photo(bomb_bytes())
    assert path.stat().st_size < 20_000
    program = """
import re, sys
from pathlib import Path
from PIL import Image, PngImagePlugin
from steelyard.suite.files import picture_problem, picture_size
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
path = Path(sys.argv[1])
before = peak()
print(picture_problem(path, max_pixels=64_000_000))
print(picture_size(path))
print(peak() - before)
PngImagePlugin.PngImageFile(path).load()
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program, path], capture_output=True, text=True)
    assert done.stderr == ""
    problem, size, checked, decoded = done.stdout.splitlines()
    assert problem == "has 10,000 x 10,000 pixels, more than the 64,000,000 allowed"
    assert size == "(10000, 10000)"
    # In megabytes; that decoding takes a hundred shows that the figure would tell.
    assert float(checked) < 20 < 80 < float(decoded)


@pytest.mark.boundary("pillow")
def test_no_warning_gets_out(photo):
    cut = photo(photo_bytes("TIFF", compression="tiff_lzw")[:-40])
    large = photo(bomb_bytes(9_500, 9_500))  # 90,250,000 pixels: Pillow warns from 89,478,485 on
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for path in (cut, large):
            picture_problem(path, max_pixels=MOST)
            picture_size(path)
    assert caught == []
    for path, kind in ((cut, UserWarning), (large, Image.DecompressionBombWarning)):
        # Pillow by itself does warn of both.
        with pytest.warns(kind), contextlib.suppress(OSError):
            Image.open(path).close()


@pytest.fixture
def loads(monkeypatch):
    """How often a JPEG was decoded."""
    counted = []
    load = JpegImagePlugin.JpegImageFile.load

    def counting(self):
        counted.append(threading.get_ident())
        return load(self)

    monkeypatch.setattr(JpegImagePlugin.JpegImageFile, "load", counting)
    return counted


def test_a_picture_is_decoded_once_until_it_changes(photo, loads):
    path = photo(photo_bytes("JPEG"))
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: picture_problem(path, max_pixels=MOST), range(24)))
    assert (told, len(loads)) == ([None] * 24, 1)
    path.write_bytes(photo_bytes("JPEG", noise(seed=2))[:-300])
    assert "cut off" in picture_problem(path, max_pixels=MOST)
    assert len(loads) == 2


@pytest.mark.parametrize("format_", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_size_is_that_of_the_picture_turned_upright(photo, format_, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = photo(photo_bytes(format_, exif=exif))
    # EXIF 2.3, tag 0x0112: 1 to 4 leave rows as rows, 5 to 8 make them columns.
    assert picture_size(path) == ((40, 30) if orientation <= 4 else (30, 40))
    with Image.open(path) as opened:
        assert ImageOps.exif_transpose(opened).size == picture_size(path)


@pytest.mark.boundary("pillow")
def test_exif_that_cannot_be_read_turns_nothing(photo):
    assert picture_size(photo(photo_bytes("JPEG", exif=b"Exif\0\0MM garbage"))) == (40, 30)


def test_each_bad_file_of_a_case_is_reported_and_good_ones_are_not(tmp_path):
    told = bad_photos(tmp_path)
    (tmp_path / "good.png").write_bytes(photo_bytes())
    for name, expected in told.items():
        case = Case("c", attachments=read_attachments(["good.png", name], tmp_path))
        assert unsendable(case, tmp_path, max_pixels=MOST) == f"an attachment cannot be sent: {expected}"
    case = Case("c", attachments=read_attachments(["good.png"], tmp_path))
    assert unsendable(case, tmp_path, max_pixels=MOST) is None
    both = Case("c", attachments=read_attachments(["empty.png", "page.png"], tmp_path))
    assert f"{told['empty.png']}; {told['page.png']}" in unsendable(both, tmp_path, max_pixels=MOST)


SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
XML = b"<?xml version='1.0'?>\n<!-- drawn by hand -->\n"
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"
GARBAGE = b"not an image at all"


@pytest.mark.parametrize(
    ("name", "media_type", "data", "message"),
    [
        ("a.svg", None, SVG, None),
        ("a.svg", "image/png", SVG, "is not an image"),
        ("a.svg", "IMAGE/PNG; q=1", SVG, "is not an image"),
        ("a.svg", None, XML + SVG, None),
        ("a.svg", None, (XML + SVG).decode().encode("utf-16"), None),
        ("a.svg", None, XML + b"<svg:svg/>", None),
        ("a.svg", None, b" " * (4096 - 5) + SVG, None),
        ("a.svg", None, b" " * 4096 + SVG, "a.svg is not an image (SVG)"),
        ("a.svg", None, GARBAGE, "a.svg is not an image (SVG): it begins with 'not an image at '"),
        ("a.svg", None, b"<!doctype html><HTML><body>404 " + SVG, "a.svg is not an image (SVG)"),
        ("a.svg", None, b"<svgs/>", "a.svg is not an image (SVG)"),
        ("a.svg", None, HEIC, "a.svg is not an image (SVG)"),
        ("a.svg", None, b"", "a.svg is empty"),
        ("a.heic", None, HEIC, None),
        ("a.heif", None, HEIC, None),
        ("a.avif", None, HEIC.replace(b"heic", b"avif"), None),
        ("a.bin", "IMAGE/HEIC; q=1", HEIC, None),
        ("a.heic", None, GARBAGE, "a.heic is not an image (HEIC): it begins with 'not an image at '"),
        ("a.heif", None, GARBAGE, "a.heif is not an image (HEIF)"),
        ("a.avif", None, GARBAGE, "a.avif is not an image (AVIF)"),
        ("a.avif", None, HEIC[:7], "a.avif is not an image (AVIF)"),
        ("a.avif", None, b"ftypavif", "a.avif is not an image (AVIF)"),
        ("a.heic", None, b"version https://git-lfs.github.com/spec/v1", "a.heic is a pointer of Git LFS"),
        ("a.png", None, HEIC, "a.png is not an image (PNG, JPEG, WebP, GIF, BMP or TIFF)"),
        ("a.heic", None, photo_bytes("JPEG"), None),
        ("a.heic", None, photo_bytes("JPEG")[:-400], "a.heic is cut off: its JPEG data"),
        ("a.avif", None, b"", "a.avif is empty"),
        ("a.txt", None, b"", None),
        ("a.txt", None, None, "there is no file a.txt"),
        ("a.png", None, b"GIF", "is not an image"),
    ],
)
def test_a_file_is_judged_by_the_kind_it_claims_to_be(tmp_path, name, media_type, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    given = {"place": name} | ({"media_type": media_type} if media_type else {})
    case = Case("c", attachments=read_attachments([given, "https://example.org/none.png"], tmp_path))
    problem = unsendable(case, tmp_path, max_pixels=MOST)
    assert problem is None if message is None else message in problem


def test_a_picture_of_another_kind_than_its_name_says_is_still_one(tmp_path):
    (tmp_path / "a.png").write_bytes(photo_bytes("JPEG"))
    assert unsendable(Case("c", attachments=read_attachments("a.png", tmp_path)), tmp_path, max_pixels=MOST) is None


@pytest.mark.boundary("pillow")
@pytest.mark.parametrize(
    ("format_", "media_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("WEBP", "image/webp"),
        ("GIF", "image/gif"),
        ("BMP", "image/bmp"),
        ("TIFF", "image/tiff"),
    ],
)
def test_the_bytes_tell_the_media_type(format_, media_type):
    assert media_type_of(photo_bytes(format_)) == media_type


@pytest.mark.parametrize("data", [b"", SVG, HEIC, GARBAGE, b"RIFF\0\0\0\0WAVE"])
def test_bytes_that_do_not_tell_have_no_media_type(data):
    assert media_type_of(data) is None


def test_a_link_that_leads_out_by_the_time_of_the_run_is_not_followed(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    (tmp_path / "outside.png").write_bytes(photo_bytes())
    (folder / "a.png").symlink_to(tmp_path / "outside.png")
    case = Case("c", attachments=(Attachment("a.png", "image/png"),))
    assert "leads out of the suite's folder" in unsendable(case, folder, max_pixels=MOST)


@pytest.mark.parametrize("place", ["gone.png", "a folder.png", "cases.json/x.png", "pipe.png", "x" * 300 + ".png"])
def test_a_file_that_cannot_be_read_does_not_stop_the_suite(write, place):
    row = {"id": "a", "expected": {"text": "x"}, "attachments": place}
    path = write({"cases": "c.json"}, files={"c.json": [row, {"id": "b", "expected": {"text": "y"}}]})
    (path.parent / "a folder.png").mkdir()
    os.mkfifo(path.parent / "pipe.png")
    suite = load_suite(path)
    assert [[one.digest for one in case.attachments] for case in suite.cases] == [["missing"], []]
    (case, _) = suite.cases
    assert unsendable(case, path.parent, max_pixels=MOST).startswith("an attachment cannot be sent: ")


def test_a_file_that_appears_makes_it_another_signature(write):
    row = {"id": "a", "expected": {"text": "x"}, "attachments": "a.png"}
    path = write({"cases": "c.json"}, files={"c.json": json.dumps([row])})
    before = load_suite(path).survey
    assert load_suite(path).survey == before
    (path.parent / "a.png").write_bytes(photo_bytes())
    after = load_suite(path).survey
    assert after.cases_digest != before.cases_digest
    assert after.input_digest != before.input_digest
    assert after.truth_digest == before.truth_digest


def test_loading_a_suite_decodes_nothing(write, loads):
    row = {"id": "a", "expected": {"text": "x"}, "attachments": "a.jpg"}
    load_suite(write({"cases": "c.json"}, files={"c.json": [row], "a.jpg": photo_bytes("JPEG")}))
    assert loads == []


def test_the_limit_is_written_in_the_suite_file(write):
    assert load_suite(write()).limits.max_pixels == MOST
    assert load_suite(write({"limits": {"max_pixels": 1000}})).limits.max_pixels == 1000

"""Pictures as a page holds them: shrunk, upright, and only those that were scored."""

import base64
import hashlib
import io

import pytest
from PIL import Image

from parts.photos import bomb_bytes, noise, photo_bytes
from steelyard.report.pictures import load_pictures
from steelyard.suite.case import Attachment


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "suite").mkdir()
    return tmp_path / "suite"


def attached(folder, place, data, media_type="image/png"):
    (folder / place).write_bytes(data)
    return Attachment(place, media_type, hashlib.sha256(data).hexdigest()[:16])


def loaded(folder, *attachments):
    return load_pictures(attachments, str(folder / "suite.yaml"))


def decoded(picture):
    return Image.open(io.BytesIO(base64.b64decode(picture.data)))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "TIFF"])
def test_a_small_picture_keeps_its_size_and_becomes_a_jpeg(folder, kind):
    picture = loaded(folder, attached(folder, "a", photo_bytes(kind)))["a"]
    assert (picture.width, picture.height, picture.problem) == (40, 30, "")
    image = decoded(picture)
    assert (image.format, image.size) == ("JPEG", (40, 30))


def test_a_large_picture_is_shrunk_to_a_longest_side_of_1000(folder):
    big = photo_bytes("JPEG", Image.new("RGB", (3000, 1200), "red"))
    picture = loaded(folder, attached(folder, "a.jpg", big, "image/jpeg"))["a.jpg"]
    # 1200 * 1000 / 3000 = 400
    assert (picture.width, picture.height) == decoded(picture).size == (1000, 400)


def test_a_picture_that_lies_on_its_side_is_set_upright(folder):
    left_red = Image.new("RGB", (40, 20), "blue")
    left_red.paste("red", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[274] = 6  # turn by a quarter clockwise to look at it: what is left comes to the top
    picture = loaded(folder, attached(folder, "a.jpg", photo_bytes("JPEG", left_red, exif=exif, quality=95)))["a.jpg"]
    assert (picture.width, picture.height) == (20, 40)
    image = decoded(picture).convert("RGB")
    assert image.getpixel((10, 5))[0] > 200
    assert image.getpixel((10, 35))[2] > 200
    assert not image.getexif()


def test_what_is_transparent_is_white(folder):
    clear = Image.new("RGBA", (20, 20), (255, 0, 0, 0))
    picture = loaded(folder, attached(folder, "a.png", photo_bytes("PNG", clear)))["a.png"]
    assert min(decoded(picture).getpixel((10, 10))) > 250


def test_a_picture_that_was_changed_is_not_shown(folder):
    attachment = attached(folder, "a.png", photo_bytes())
    (folder / "a.png").write_bytes(photo_bytes(picture=noise(seed=2)))
    picture = loaded(folder, attachment)["a.png"]
    assert picture.problem == "a.png has changed since it was scored"
    assert picture.data == ""


def test_a_missing_picture_says_so_without_a_path_of_this_machine(folder):
    picture = loaded(folder, Attachment("photos/a.png", "image/png", "0" * 16))["photos/a.png"]
    assert picture.problem == "not on this machine: there is no file photos/a.png"


def test_an_address_is_never_fetched(folder):
    place = "http://127.0.0.1:9/a.png"
    picture = loaded(folder, Attachment(place, "image/png"))[place]
    assert picture.problem == f"at {place}: a report fetches nothing"


def test_a_file_outside_the_suite_is_not_read(folder):
    secret = photo_bytes()
    (folder.parent / "secret.png").write_bytes(secret)
    outside = Attachment("../secret.png", "image/png", hashlib.sha256(secret).hexdigest()[:16])
    picture = loaded(folder, outside)["../secret.png"]
    assert "leads out of the suite's folder" in picture.problem
    assert picture.data == ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"<html>404</html>", "is not an image"),
        (photo_bytes("JPEG", quality=90)[:900], "is cut off"),
        (bomb_bytes(), "has 10,000 x 10,000 pixels"),
    ],
)
def test_a_bad_picture_says_what_is_wrong_with_it(folder, data, message):
    picture = loaded(folder, attached(folder, "a.png", data))["a.png"]
    assert picture.problem.startswith(f"a.png {message}")
    assert picture.data == ""


def test_other_attachments_are_left_out_and_each_picture_comes_once(folder):
    one = attached(folder, "a.png", photo_bytes())
    found = loaded(folder, one, Attachment("notes.txt", "text/plain", "0"), one)
    assert list(found) == ["a.png"]


def test_many_pictures_are_smaller_and_beyond_300_only_named(folder):
    data = photo_bytes("PNG", Image.new("L", (700, 10)))
    many = [attached(folder, f"{number:03d}.png", data) for number in range(301)]
    assert loaded(folder, *many[:40])["000.png"].width == 700
    assert loaded(folder, *many[:41])["000.png"].width == 640
    found = loaded(folder, *many)
    assert found["299.png"].width == 400
    assert found["300.png"].problem == "not shown: a page holds at most 300 pictures"

"""What a message about an optional part says to type is right for how Steelyard was installed."""

import json
import sys

import pytest

from steelyard.errors import MissingExtra, install_command

REQUIRES = ["rich>=13", "vl-convert-python<2,>=1.7; extra == 'charts'", 'numba; (os_name == "x") and extra == "charts"']


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Pretends that Steelyard was installed so: where from, by what, into which environment."""
    folder = tmp_path / "site" / "steelyard-0.1.0.dist-info"
    folder.mkdir(parents=True)
    requires = "".join(f"Requires-Dist: {text}\n" for text in REQUIRES)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: steelyard\nVersion: 0.1.0\n{requires}")
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))

    def pretend(origin=None, installer="pip", marker=None):
        (folder / "INSTALLER").write_text(f"{installer}\n")
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        if marker:
            (tmp_path / marker).touch()

    return pretend


def local(path, **info):
    return {"url": path.as_uri(), **info}


def test_from_an_index_it_is_the_name(installed):
    installed()
    assert install_command("charts") == "pip install 'steelyard[charts]'"
    assert str(MissingExtra("drawing", "charts")).endswith("needs an optional part: pip install 'steelyard[charts]'")


def test_from_a_clone_it_is_the_folder(installed, tmp_path):
    installed(local(tmp_path, dir_info={"editable": True}))
    assert install_command("charts") == f"pip install --editable '{tmp_path}[charts]'"
    installed(local(tmp_path, dir_info={}), installer="uv")
    assert install_command("charts") == f"uv pip install '{tmp_path}[charts]'"


def test_from_a_wheel_it_is_the_file_and_without_the_file_what_the_part_consists_of(installed, tmp_path):
    wheel = tmp_path / "a folder" / "steelyard-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    installed(local(wheel, archive_info={}))
    assert install_command("charts") == f"pip install '{wheel}[charts]'"
    wheel.unlink()
    assert install_command("charts") == "pip install 'vl-convert-python<2,>=1.7' numba"
    installed(local(wheel, archive_info={}), marker="pipx_metadata.json")
    assert install_command("charts") == "pipx inject steelyard 'vl-convert-python<2,>=1.7' numba"


def test_from_a_repository_or_an_address_it_is_that(installed):
    installed({"url": "https://example.org/s.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    assert install_command("charts") == "pip install 'steelyard[charts] @ git+https://example.org/s.git@abc'"
    installed({"url": "https://example.org/s.whl", "archive_info": {}})
    assert install_command("charts") == "pip install 'steelyard[charts] @ https://example.org/s.whl'"


def test_a_tool_of_pipx_is_installed_by_pipx(installed):
    installed(marker="pipx_metadata.json")
    assert install_command("charts") == "pipx install --force 'steelyard[charts]'"


def test_a_tool_of_uv_is_installed_by_uv(installed):
    installed(installer="uv", marker="uv-receipt.toml")
    assert install_command("charts") == "uv tool install --force 'steelyard[charts]'"

"""What a missing extra is installed with depends on where Steelyard came from, and by whom."""

from __future__ import annotations

import json
import sys

import pytest

from steelyard.errors import MissingExtra

EDITABLE = {"url": "file:///my%20code", "dir_info": {"editable": True}}


@pytest.mark.parametrize(
    ("origin", "installer", "prefix", "command"),
    [
        (None, "pip", "/venv", "pip install 'steelyard[web]'"),
        (EDITABLE, "pip", "/venv", "pip install --editable '/my code[web]'"),
        ({"url": "file:///code", "dir_info": {}}, "uv", "/venv", "uv pip install '/code[web]'"),
        ({"url": "file:///s.whl", "archive_info": {}}, "pip", "/venv", "pip install 'steelyard[web] @ file:///s.whl'"),
        (
            {"url": "https://host/s.git", "vcs_info": {"vcs": "git"}},
            "pip",
            "/home/me/.local/share/pipx/venvs/steelyard",
            "pipx install --force 'steelyard[web] @ git+https://host/s.git'",
        ),
        (None, "uv", "/home/me/.local/share/uv/tools/steelyard", "uv tool install --force 'steelyard[web]'"),
    ],
)
def test_a_missing_extra_names_the_command_that_works_here(tmp_path, monkeypatch, origin, installer, prefix, command):
    installed = tmp_path / "steelyard-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard\nVersion: 0.1.0\n")
    (installed / "INSTALLER").write_text(f"{installer}\n")
    if origin is not None:
        (installed / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "prefix", prefix)
    assert str(MissingExtra("the web app", "web")) == f"the web app needs an optional part: {command}"

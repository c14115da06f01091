"""The docs as a site: it builds without a warning, and is read and searched as files, with nothing from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.browser
def test_the_site_is_built_and_searched_offline(tmp_path, chromium):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "site" / "tutorial.html").as_uri())
    page.click("[data-md-component=search-query]")
    page.keyboard.type("minimum detectable difference")
    titles = page.locator(".md-search-result__item h1")
    titles.first.wait_for()
    assert "Glossary" in titles.all_inner_texts()
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
    # A link to a file that is no page of the site is its path.
    assert "src/steelyard/suites/cards/README.md" in (tmp_path / "site" / "pictures.html").read_text("utf-8")

"""A static copy of runs and their comparisons."""

from __future__ import annotations

import re

import pytest

from parts.served import put_all
from steelyard.errors import UsageError
from steelyard.web.bundle import write_bundle


@pytest.fixture
def headers(store):
    put_all(store)
    return [store.run(name) for name in ("hostile-2", "rich-2", "hostile-1", "rich-1")]


def test_every_link_of_a_bundle_leads_to_a_file_of_it(store, headers, tmp_path):
    folder = tmp_path / "site"
    n = write_bundle(store, folder, headers)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert len(files) == n == 8  # four runs, two comparisons, index.html and bundle.json
    index = (folder / "index.html").read_text()
    links = re.findall(r'href="([^"#:]+)"', index)
    assert sorted(links) == sorted(files - {"index.html", "bundle.json"})
    for name in links:
        page = (folder / name).read_text()
        assert 'href="../index.html"' in page
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
        assert "<script>window.broken" not in page
    # The older one first: what changed, not what would have to be undone.
    assert "changes/rich-1--rich-2.html" in links


def test_a_folder_with_anything_else_is_left_alone(store, headers, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="something else than a bundle"):
        write_bundle(store, tmp_path / "mine", headers)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    write_bundle(store, tmp_path / "site", headers)
    assert write_bundle(store, tmp_path / "site", headers[:1]) == 3
    assert len(list((tmp_path / "site" / "runs").iterdir())) == 1
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".site")]
    (tmp_path / "site" / "runs" / "notes.txt").write_text("years of work")
    (tmp_path / "mine" / "bundle.json").write_text('{"runs": "of another tool"}')
    for name in ("site", "mine"):
        with pytest.raises(UsageError, match="something else than a bundle"):
            write_bundle(store, tmp_path / name, headers)
    assert (tmp_path / "site" / "runs" / "notes.txt").exists()

"""What the system refuses, and files that are made to fill it, end in a sentence and never as an internal error."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from parts.command import steelyard
from parts.small_suite import write_suite
from steelyard.store.snapshot_format import ContentDigest
from steelyard.suite.streams import Damaged, open_bytes

LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", f"{LONG}.json"),
        ("import", f"{LONG}.json", "--suite", "review"),
        ("run", LONG),
        ("run", "review", "--cases", LONG),
        ("runs", "--store", LONG),
        ("init", LONG),
    ],
    ids=lambda given: " ".join(given).replace(LONG, "LONG"),
)
def test_a_name_that_is_too_long_for_the_file_system_is_wrong_usage(tmp_path, arguments):
    done = steelyard(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "characters): the name is longer than the file system allows" in done.stderr


def forged(path: Path, source: Path, **changes: object) -> Path:
    """A snapshot with other values in its header, and the digest that belongs to them."""
    document = json.loads(source.read_text())
    document["run"] |= changes
    digest = ContentDigest()
    for record in (document["run"], *document["cases"], *document["samples"]):
        digest.add(record)
    path.write_text(json.dumps(document | {"digest": digest.text()}))
    return path


@pytest.mark.parametrize(
    "changes",
    [{"created_at": 1e308}, {"created_at": [1]}, {"n_planned": [1]}, {"ended_at": {"a": 1}}, {"signature": [1]}],
    ids=str,
)
def test_a_forged_snapshot_is_no_internal_error(tmp_path, changes):
    write_suite(tmp_path / "suite", n=2)
    assert steelyard("run", "suite", cwd=tmp_path).returncode in (0, 1)
    assert steelyard("export", "LAST", "good.json", cwd=tmp_path).returncode == 0
    forged(tmp_path / "forged.json", tmp_path / "good.json", **changes)
    for arguments in (("report", "forged.json", "--full"), ("import", "forged.json", "--store", "other.db")):
        done = steelyard(*arguments, cwd=tmp_path)
        assert done.returncode in (0, 2), done.stderr
        assert "internal error" not in done.stderr


def test_packed_data_that_unpacks_to_far_more_than_any_data_does_is_refused(tmp_path):
    zeros = bytes(1 << 20)
    packed = {"a.jsonl.gz": gzip.compress(zeros * 80), "a.jsonl.zst": zstandard.compress(zeros * 80)}
    for name, raw in packed.items():
        (tmp_path / name).write_bytes(raw)
        with open_bytes(tmp_path / name) as stream, pytest.raises(Damaged, match="more than 200 times its size"):
            stream.read()
    # What is large and packs as data does is read to its end.
    text = "".join(json.dumps({"id": n, "text": str(n * 7919) * 9}) + "\n" for n in range(20_000)).encode()
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(text))
    with open_bytes(tmp_path / "b.jsonl.gz") as stream:
        assert stream.read() == text


def test_a_run_makes_as_many_calls_at_once_as_it_may_open_files_for(tmp_path):
    target = {"command": {"run": ["sh", "-c", 'sleep 0.2; echo \'{"word": "word 0"}\'']}}
    write_suite(tmp_path / "suite", n=40, target=target)
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "run", "suite", "--concurrency", "100"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
        check=False,
    )
    assert "concurrency lowered from 100 to " in done.stderr
    assert "the system lets this process open 100 files (raise it with ulimit -n)" in done.stderr
    assert "40 samples: 40 scored" in done.stdout
    assert "cannot be opened" not in done.stderr


def test_a_store_that_cannot_be_opened_for_want_of_files_says_so(tmp_path):
    code = """
import os, resource, sys
from steelyard.errors import StoreError
from steelyard.store.sql import open_store
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
with open_store("s.db"):
    pass
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
try:
    open_store("s.db")
except StoreError as error:
    os.write(1, str(error).encode())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "this process may open no more files (ulimit -n)" in done.stdout, done.stderr

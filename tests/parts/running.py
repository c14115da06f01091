"""Runs for tests that look at what is stored: the header and the ending alone, as `run` and `rescore` leave them."""

from steelyard.engine.run_options import RunOptions
from steelyard.runner import run as runner


def run(*args, **options):
    result = runner.run(*args, **options)
    return result.header, result.ending


def judge_again(*args, **options):
    result = runner.judge_again(*args, **options)
    return result.header, result.ending


def rescore(suite, store, earlier, **options):
    return runner.rescore(suite, store, earlier, RunOptions(**options)).header

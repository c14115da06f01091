"""Reads every module of the product's core once, for processes that are forked from the one that has read them."""

import gc
from importlib import import_module
from pathlib import Path

import numpy as np  # noqa: F401

import parts.command  # noqa: F401 - what each process begins with
import steelyard
import steelyard.cli

_SOURCE = Path(steelyard.__file__).parent
# The web app needs an extra that the lowest versions are tested without.
_LEFT_OUT = {"suites", "starter", "web", "__main__"}

for _file in sorted(_SOURCE.rglob("*.py")):
    _names = _file.relative_to(_SOURCE).with_suffix("").parts
    if not _LEFT_OUT.intersection(_names):
        import_module(".".join(("steelyard", *_names)).removesuffix(".__init__"))

# What is read here stays to the end: a garbage collection that went through it would copy it into every process.
gc.collect()
gc.freeze()

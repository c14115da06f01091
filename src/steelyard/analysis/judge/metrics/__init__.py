"""The metrics of a judge, one line or function each: every module of this folder registers its own when it is loaded.

A metric of a judge is named `judge.<...>`. A gate can name it, and so can `judge.health`, without `judge.`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

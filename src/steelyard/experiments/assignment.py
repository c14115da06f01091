"""Which units are in an experiment, and in which arm: by hash, so that nothing need be kept and all agree.

Whether a unit is exposed and which arm it gets are two hashes with two salts. With one hash for both, the units of a
little traffic all lie at the low end of it, and all get the first arm.
The number of a unit is the first 53 bits of SHA-256 of the salt, a line end and the unit, as a fraction of 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from steelyard.errors import UsageError
from steelyard.frozen import frozen

_BITS = 53
"""As many as a float holds exactly: a fraction that is never rounded up to 1."""
_ROUNDING = 1e-9


@frozen
class Experiment:
    """Arms with their shares, the share of all units that takes part, and the two salts.

    Salts that are not given are made of the name: whoever knows it assigns alike, and another name assigns anew.
    """

    name: str
    arms: tuple[tuple[str, float], ...]
    """The control first; shares add up to 1."""
    traffic: float
    salt_exposure: str
    salt_arm: str

    def __init__(
        self,
        name: str,
        arms: Sequence[str] | Mapping[str, float] = ("control", "treatment"),
        traffic: float = 1.0,
        *,
        salt_exposure: str | None = None,
        salt_arm: str | None = None,
    ) -> None:
        """UsageError when it cannot be an experiment: one arm, no traffic, or one salt for both questions."""
        set_ = object.__setattr__
        set_(self, "name", name)
        set_(self, "arms", _shares(arms))
        set_(self, "traffic", float(traffic))
        set_(self, "salt_exposure", f"{name}/exposure" if salt_exposure is None else salt_exposure)
        set_(self, "salt_arm", f"{name}/arm" if salt_arm is None else salt_arm)
        self._check()

    def _check(self) -> None:
        if not 0 < self.traffic <= 1:
            raise UsageError(f"traffic {self.traffic:g} is no share of the units: write one above 0, up to 1 (100 %)")
        if self.salt_exposure == self.salt_arm:
            raise UsageError(
                f"both salts are {self.salt_arm!r}: with one salt for exposure and arm, a little traffic all goes to"
                " one arm; give two, or leave them out"
            )
        for salt in (self.salt_exposure, self.salt_arm):
            if not salt or "\n" in salt:
                raise UsageError("a salt is a text on one line, and not empty")


def _shares(arms: Sequence[str] | Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    if isinstance(arms, str):
        raise UsageError(f"the arms are a list of names, not the text {arms!r}")
    names = list(arms)
    if len(names) < 2 or len(set(names)) < len(names) or not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"an experiment has two arms or more, each with a name of its own; found {names}")
    shares = [float(arms[name]) for name in names] if isinstance(arms, Mapping) else [1 / len(names)] * len(names)
    if min(shares) <= 0 or abs(sum(shares) - 1) > _ROUNDING:
        raise UsageError(f"the shares of the arms must be above 0 and add up to 1; found {sum(shares):g} in all")
    return tuple(zip(names, shares, strict=True))


def assign(unit: str | int, experiment: Experiment) -> str | None:
    """The arm that a unit (a user, a session, a request) gets; None when it is not in the experiment."""
    return arm_of(unit, experiment) if is_exposed(unit, experiment) else None


def is_exposed(unit: str | int, experiment: Experiment) -> bool:
    """Whether a unit takes part. With more traffic, all that took part go on to take part, in the same arms."""
    return place(experiment.salt_exposure, unit) < experiment.traffic


def arm_of(unit: str | int, experiment: Experiment) -> str:
    """The arm of a unit, were it exposed."""
    at, upper = place(experiment.salt_arm, unit), 0.0
    for name, share in experiment.arms:
        upper += share
        if at < upper:
            return name
    return experiment.arms[-1][0]


def place(salt: str, unit: str | int) -> float:
    """Where a unit lies between 0 and 1, by its hash with a salt."""
    digest = sha256(f"{salt}\n{unit}".encode("utf-8", "surrogatepass")).digest()
    number: int = int.from_bytes(digest[:8]) >> (64 - _BITS)
    return number / float(1 << _BITS)

"""`steelyard.ab`: which arm of an experiment a unit gets, for the code of a service.

`assign` is a hash and nothing else: no file, no store, no network, and the same answer everywhere.

    from steelyard.ab import Experiment, assign

    CHECKOUT = Experiment("checkout-2", arms=("control", "treatment"), traffic=0.01)
    arm = assign(user_id, CHECKOUT)     # "control", "treatment", or None for the 99 % that take no part
"""

from steelyard.decide.assignment import Experiment, arm_of, assign, is_exposed

__all__ = ["Experiment", "arm_of", "assign", "is_exposed"]

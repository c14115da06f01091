"""Steelyard weighs AI features against ground truth, with readings that can be trusted."""

__version__ = "0.1.0"

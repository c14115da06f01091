"""`steelyard.regions`: boxes in a picture for suites written in Python.

`read_box` turns a box, however it was written, into fractions of the picture; `group_boxes` puts boxes into rows,
columns or piles, as the scorers do.
"""

from steelyard.scoring.boxes import read_box
from steelyard.scoring.regions import group_boxes

__all__ = ["group_boxes", "read_box"]

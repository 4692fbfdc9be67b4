"""The index contract and the indexes."""

from covey.index.contract import Index, Pairs, Tally
from covey.index.hybrid import Hybrid
from covey.index.projected import Projected
from covey.index.scan import Scan
from covey.index.segment import Segment

__all__ = ["Hybrid", "Index", "Pairs", "Projected", "Scan", "Segment", "Tally"]

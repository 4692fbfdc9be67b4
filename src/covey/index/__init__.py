"""The index contract and the indexes."""

from covey.index.contract import Index, Pairs
from covey.index.scan import Scan
from covey.index.segment import Segment

__all__ = ["Index", "Pairs", "Scan", "Segment"]

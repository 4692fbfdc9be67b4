"""The index contract and the indexes."""

from covey.index.boxes import BoxTree
from covey.index.contract import Index, Pairs
from covey.index.scan import Scan

__all__ = ["BoxTree", "Index", "Pairs", "Scan"]

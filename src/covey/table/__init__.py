"""One broker's subscriptions on one link: which are advertised, and which are under another's."""

from covey.table.steps import Steps
from covey.table.table import Table

__all__ = ["Steps", "Table"]

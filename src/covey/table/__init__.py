"""One broker's subscriptions on one link: which are advertised, and which are under another's."""

from covey.table.cell_steps import CellSteps
from covey.table.choosing import choose
from covey.table.restore import restored
from covey.table.steps import Steps
from covey.table.table import Table

__all__ = ["CellSteps", "Steps", "Table", "choose", "restored"]

"""Generators of the papers' loads and of realistic ones, as predicates and as columns."""

from covey.workload.alerts import Alerts
from covey.workload.balls import CubeBalls
from covey.workload.boxes import UniformBoxes, ZipfBoxes
from covey.workload.classifieds import Classifieds
from covey.workload.contract import Workload
from covey.workload.names import by_name, names
from covey.workload.skewed import Skewed
from covey.workload.watches import Watches

__all__ = [
    "Alerts",
    "Classifieds",
    "CubeBalls",
    "Skewed",
    "UniformBoxes",
    "Watches",
    "Workload",
    "ZipfBoxes",
    "by_name",
    "names",
]

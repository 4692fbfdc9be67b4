"""Who is served where: plans of subscribers and brokers, and how far from the best they can be."""

from covey.plan.assigning import greedy
from covey.plan.bound import lower_bound
from covey.plan.following import follow
from covey.plan.linear import Slp, slp
from covey.plan.plan import Plan, Violations
from covey.plan.problem import Problem, Subscribers
from covey.plan.saving import SavedPlan
from covey.plan.searching import search
from covey.plan.simple import balance, closest
from covey.plan.tree import PUBLISHER, BrokerTree

__all__ = [
    "PUBLISHER",
    "BrokerTree",
    "Plan",
    "Problem",
    "SavedPlan",
    "Slp",
    "Subscribers",
    "Violations",
    "balance",
    "closest",
    "follow",
    "greedy",
    "lower_bound",
    "search",
    "slp",
]

"""Matching on Spark: every event of a DataFrame to every subscription of another."""

from covey.spark.matcher import Matcher, match
from covey.spark.model import MatcherModel

__all__ = ["Matcher", "MatcherModel", "match"]

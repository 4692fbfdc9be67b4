"""Predicate text to regions and back, and explanations."""

from covey.language.explain import Explanation, explain
from covey.language.parse import Parser, Predicates, parse
from covey.language.render import render

__all__ = ["Explanation", "Parser", "Predicates", "explain", "parse", "render"]

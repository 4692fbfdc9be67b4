"""Predicate text to regions and back, and explanations."""

from covey.language.parse import Parser, Predicates, parse

__all__ = ["Parser", "Predicates", "parse"]

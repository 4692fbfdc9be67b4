"""Constructs of Spark SQL that are outside the language, with the error message of each."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["CALL_HINTS", "UNSUPPORTED_NODES"]

UNSUPPORTED_NODES: list[tuple[tuple[type, ...], str, str, str]] = [
    ((exp.Query, exp.Subquery, exp.Exists), r"\bexists\b|\(\s*select\b",
     "a subquery cannot be used, because it depends on more than the event",
     "write a list of literals"),
    ((exp.In,), r"\bin\b", "IN needs at least one value", "write IN ('a', 'b')"),
    ((exp.Is,), r"\bis\b", "IS can be followed only by NULL, TRUE or FALSE",
     "write = or <> to compare, or IS NULL for a missing value"),
    ((exp.Placeholder, exp.Parameter), r"[?:@$]", "parameters cannot be used here",
     "write the literal itself"),
    ((exp.Window, exp.AggFunc), r"\bover\b",
     "an aggregate cannot be used, because it depends on more than the event",
     "aggregate in Spark first"),
    ((exp.National, exp.BitString), r"\b[bn]'", "literals of bits are outside the language",
     "write a number"),
    ((exp.Any, exp.All), r"\b(any|all|some)\b", "ANY and ALL can only follow LIKE",
     "use IN, or join a condition for each value with OR"),
    ((exp.Array,), r"\[", "[ ] neither makes an array nor quotes a name",
     "write array(…), or the column alone"),
    ((exp.Alias,), r"\bas\b", "a condition cannot have an alias", "leave the alias out"),
    ((exp.Star,), r"\*", "* is not a column", "name a column"),
]  # fmt: skip
"""Node types, a pattern that finds the construct in the text, the problem, and the suggestion."""

CALL_HINTS = {
    "array_contains": "write array_contains(tags, 'a')",
    "arrays_overlap": "write arrays_overlap(tags, array('a', 'b'))",
}
"""Suggestions by function name, for functions whose arguments are often confused."""

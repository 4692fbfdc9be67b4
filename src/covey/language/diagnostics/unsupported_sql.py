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
    ((exp.Lambda,), "->", "functions with -> are outside the language",
     "use array_contains or arrays_overlap"),
    ((exp.Interval,), r"\binterval\b", "intervals are outside the language",
     "write the time itself, or date_add(day, 7) for days"),
    ((exp.Window, exp.AggFunc), r"\bover\b",
     "an aggregate cannot be used, because it depends on more than the event",
     "aggregate in Spark first"),
    ((exp.Any, exp.All), r"\b(any|all|some)\b", "ANY and ALL are outside the language",
     "use IN, or join a condition for each value with OR"),
    ((exp.BitwiseXor,), r"\^", "^ works on bits, and is outside the language", "write pow(x, 2)"),
    ((exp.BitwiseAnd,), "&", "& works on bits, and is outside the language", "write AND"),
    ((exp.BitwiseOr,), r"\|", "| works on bits, and is outside the language", "write OR"),
    ((exp.BitwiseLeftShift, exp.BitwiseRightShift), "<<|>>", "shifts are outside the language",
     "write x * 4 or x div 4"),
    ((exp.HexString, exp.National, exp.BitString), r"\b(0x|[xbn]')",
     "binary literals are outside the language", "write a text or a number"),
    ((exp.Array,), r"\[", "[ ] neither makes an array nor quotes a name",
     "write array(…), or the column alone"),
    ((exp.Dot,), r"\)\s*\.", "a field of a function's result is outside the language",
     "use get_json_object, or add a column to the events"),
    ((exp.Alias,), r"\bas\b", "a condition cannot have an alias", "leave the alias out"),
    ((exp.Star,), r"\*", "* is not a column", "name a column"),
    ((exp.Tuple,), r"\(", "several values in parentheses cannot be compared together",
     "compare columns one by one"),
]  # fmt: skip
"""Node types, a pattern that finds the construct in the text, the problem, and the suggestion."""

CALL_HINTS = {
    "array_contains": "write array_contains(tags, 'a')",
    "arrays_overlap": "write arrays_overlap(tags, array('a', 'b'))",
}
"""Suggestions by function name, for functions whose arguments are often confused."""

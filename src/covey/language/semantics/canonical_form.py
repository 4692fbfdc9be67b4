"""Canonical text of an expression: the name of a derived attribute, and what Spark computes."""

from __future__ import annotations

from sqlglot import exp

from covey.language.semantics.name_resolver import NameResolver
from covey.language.semantics.row_functions import CLOCK_FUNCTIONS, NEEDS_ARGUMENT
from covey.language.syntax.ast_utils import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    LIKES,
    call_name,
    unwrap_parentheses,
)
from covey.sql_names import quote_identifier

__all__ = ["canonical_text"]


def canonical_text(names: NameResolver, node: exp.Expr) -> str:
    """Return the canonical text of an expression.

    Expressions that differ only in blanks, in redundant parentheses or in the case of names have
    the same canonical text. In it, every operation is in parentheses. The literals of the
    expression become part of the compiled template.
    """
    node = unwrap_parentheses(node)
    if names.is_path(node):
        return names.resolve_path(node)[1]
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        field = quote_identifier(node.expression.name, is_field=True)
        return f"{canonical_text(names, node.this)}.{field}"
    if isinstance(node, exp.Literal):
        return names.fix_literal(node)
    if isinstance(node, exp.RawString):
        return names.fix_raw_string(node)
    if isinstance(node, exp.Concat):
        return " ".join(names.fix_literal(part) for part in node.expressions)
    if isinstance(node, exp.Var):
        return node.name  # a unit of time
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Neg):
        number = unwrap_parentheses(node.this)
        if isinstance(number, exp.Literal) and not number.is_string and number is node.this:
            return f"-{canonical_text(names, number)}"
        return f"(- {canonical_text(names, node.this)})"
    if isinstance(node, exp.BitwiseNot):
        return f"(~ {canonical_text(names, node.this)})"
    binary = _BINARY.get(type(node))
    if binary:
        left = canonical_text(names, node.this)
        return f"({left} {binary} {canonical_text(names, node.expression)})"
    if type(node) in LIKES:
        word = ("NOT " if node.args.get("negate") else "") + LIKES[type(node)]
        return (
            f"({canonical_text(names, node.this)} {word} {canonical_text(names, node.expression)})"
        )
    if isinstance(node, exp.Escape):
        like = canonical_text(names, node.this)[1:-1]
        return f"({like} ESCAPE {canonical_text(names, node.expression)})"
    if isinstance(node, exp.Not):
        return f"(NOT {canonical_text(names, node.this)})"
    if isinstance(node, exp.Is):
        return f"({canonical_text(names, node.this)} IS {canonical_text(names, node.expression)})"
    if isinstance(node, exp.Between):
        # Literals are read in the order of the text: `this` comes first.
        subject = canonical_text(names, node.this)
        low, high = (
            canonical_text(names, node.args["low"]),
            canonical_text(names, node.args["high"]),
        )
        return f"({subject} BETWEEN {low} AND {high})"
    if isinstance(node, exp.In):
        subject = canonical_text(names, node.this)
        values = ", ".join(
            names.fix_literal(value)[1:-1]
            if names.is_literal_list(value)
            else canonical_text(names, value)
            for value in node.expressions
        )
        return f"({subject} IN ({values}))"
    if isinstance(node, exp.Cast):
        word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        value = canonical_text(names, node.this)
        if names.is_typed_literal(node):
            return f"{names.write_type(node.to)} {value}"
        return f"{word}({value} AS {names.write_type(node.to)})"
    if isinstance(node, exp.Bracket):
        return f"{canonical_text(names, node.this)}[{canonical_text(names, node.expressions[0])}]"
    if isinstance(node, exp.If):
        branches = [node.this, node.args["true"], node.args.get("false")]
        return f"if({', '.join(canonical_text(names, b) for b in branches if b is not None)})"
    if isinstance(node, exp.Case):
        return _case_text(names, node)
    if isinstance(node, exp.Anonymous):
        return _call_text(names, node)
    if isinstance(node, exp.Lambda):
        variables = ", ".join(names.name_variables(node))
        left = variables if len(node.expressions) == 1 else f"({variables})"
        return f"{left} -> {canonical_text(names, node.this)}"
    if isinstance(node, exp.Tuple):
        return f"({', '.join(canonical_text(names, each) for each in node.expressions)})"
    if isinstance(node, exp.Any | exp.All):
        word = "ANY" if isinstance(node, exp.Any) else "ALL"
        patterns = canonical_text(names, node.this)
        return f"{word} {patterns if patterns[0] == '(' else f'({patterns})'}"
    if isinstance(node, exp.Extract):
        return f"extract({node.this.name} FROM {canonical_text(names, node.expression)})"
    if isinstance(node, exp.HexString):
        return f"X{names.fix_literal(node)}"
    if isinstance(node, exp.Collate):
        return (
            f"({canonical_text(names, node.this)} COLLATE {quote_identifier(node.expression.name)})"
        )
    if isinstance(node, exp.Interval):
        parts = [_interval_text(names, part) for part in node.this.expressions]
        return f"(INTERVAL {' '.join(parts)})"
    raise names.unsupported_error(node)


_BINARY = {
    **ARITHMETIC, **BITWISE, **COMPARISONS, exp.And: "AND", exp.Or: "OR", exp.DPipe: "||",
}  # fmt: skip
"""Signs of operators with two operands."""


def _call_text(names: NameResolver, node: exp.Anonymous) -> str:
    """Return the canonical text of a call."""
    name = call_name(node)
    arguments = [
        names.fix_literal(a)[1:-1] if names.is_literal_list(a) else canonical_text(names, a)
        for a in node.expressions
    ]
    if not arguments and name in NEEDS_ARGUMENT:
        arguments.append("current_timestamp()")
    return f"{CLOCK_FUNCTIONS.get(name, name)}({', '.join(arguments)})"


def _interval_text(names: NameResolver, node: exp.Expr) -> str:
    """Return the text of a part of an interval: a literal with its sign and its unit."""
    value, unit = node.this, node.args.get("unit")
    sign = "-" if isinstance(value, exp.Neg) else ""
    literal = names.fix_literal(value.this if sign else value)
    return f"{sign}{literal} {unit.name}" if unit else f"{sign}{literal}"


def _case_text(names: NameResolver, node: exp.Expr) -> str:
    """Return the canonical text of a CASE expression."""
    parts = [f"CASE {canonical_text(names, node.this)}" if node.this else "CASE"]
    parts += [
        f"WHEN {canonical_text(names, when.this)} THEN {canonical_text(names, when.args['true'])}"
        for when in node.args["ifs"]
    ]
    if node.args.get("default"):
        parts.append(f"ELSE {canonical_text(names, node.args['default'])}")
    return " ".join([*parts, "END"])

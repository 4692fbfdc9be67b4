"""Canonical text of an expression: the name of a derived attribute, and what Spark computes."""

from __future__ import annotations

from sqlglot import exp

from covey.language.semantics.name_resolver import NameResolver
from covey.language.syntax.ast_utils import (
    ARITHMETIC,
    COMPARISONS,
    LIKES,
    call_name,
    unwrap_parentheses,
)

__all__ = ["canonical_text"]


def canonical_text(names: NameResolver, node: exp.Expr) -> str:
    """Return the canonical text of an expression.

    Expressions that differ only in blanks, in redundant parentheses or in the case of names have
    the same canonical text. In it, every operation is in parentheses. The literals of the
    expression become part of the compiled template.
    """
    node = unwrap_parentheses(node)
    if isinstance(node, exp.Column | exp.Dot):
        return names.resolve_path(node)[1]
    if isinstance(node, exp.Literal | exp.RawString):
        return names.fix_literal(node)
    if isinstance(node, exp.Concat):
        return " ".join(names.fix_literal(part) for part in node.expressions)
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Neg):
        return f"(- {canonical_text(names, node.this)})"
    binary = {**ARITHMETIC, **COMPARISONS, exp.And: "AND", exp.Or: "OR", exp.DPipe: "||"}.get(
        type(node)
    )
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
        low, high = (
            canonical_text(names, node.args["low"]),
            canonical_text(names, node.args["high"]),
        )
        return f"({canonical_text(names, node.this)} BETWEEN {low} AND {high})"
    if isinstance(node, exp.In):
        values = ", ".join(
            names.fix_literal(value)[1:-1]
            if names.is_literal_list(value)
            else canonical_text(names, value)
            for value in node.expressions
        )
        return f"({canonical_text(names, node.this)} IN ({values}))"
    if isinstance(node, exp.Cast):
        word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        value = canonical_text(names, node.this)
        return f"{word}({value} AS {str(names.resolve_type(node.to)).upper()})"
    if isinstance(node, exp.Bracket):
        return f"{canonical_text(names, node.this)}[{canonical_text(names, node.expressions[0])}]"
    if isinstance(node, exp.If):
        branches = [node.this, node.args["true"], node.args.get("false")]
        return f"if({', '.join(canonical_text(names, b) for b in branches if b is not None)})"
    if isinstance(node, exp.Case):
        return _case_text(names, node)
    if isinstance(node, exp.Anonymous):
        arguments = ", ".join(
            names.fix_literal(a)[1:-1] if names.is_literal_list(a) else canonical_text(names, a)
            for a in node.expressions
        )
        return f"{call_name(node)}({arguments})"
    raise names.unsupported_error(node)


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

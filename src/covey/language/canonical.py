"""The one text of an expression: what a derived attribute is called, and what Spark computes."""

from __future__ import annotations

from sqlglot import exp

from covey.language.names import Names
from covey.language.nodes import ARITHMETIC, COMPARISONS, LIKES, call_name, unwrapped

__all__ = ["text"]


def text(names: Names, node: exp.Expr) -> str:
    """The one text of an expression; what is not a name or a call stands in parentheses."""
    node = unwrapped(node)
    if isinstance(node, exp.Column | exp.Dot):
        return names.path(node)[1]
    if isinstance(node, exp.Literal | exp.RawString):
        return names.raw(node)
    if isinstance(node, exp.Concat):
        return " ".join(names.raw(one) for one in node.expressions)
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Neg):
        return f"(- {text(names, node.this)})"
    binary = {**ARITHMETIC, **COMPARISONS, exp.And: "AND", exp.Or: "OR", exp.DPipe: "||"}.get(
        type(node)
    )
    if binary:
        return f"({text(names, node.this)} {binary} {text(names, node.expression)})"
    if type(node) in LIKES:
        word = ("NOT " if node.args.get("negate") else "") + LIKES[type(node)]
        return f"({text(names, node.this)} {word} {text(names, node.expression)})"
    if isinstance(node, exp.Escape):
        return f"({text(names, node.this)[1:-1]} ESCAPE {text(names, node.expression)})"
    if isinstance(node, exp.Not):
        return f"(NOT {text(names, node.this)})"
    if isinstance(node, exp.Is):
        return f"({text(names, node.this)} IS {text(names, node.expression)})"
    if isinstance(node, exp.Between):
        low, high = text(names, node.args["low"]), text(names, node.args["high"])
        return f"({text(names, node.this)} BETWEEN {low} AND {high})"
    if isinstance(node, exp.In):
        inside = ", ".join(
            names.raw(one)[1:-1] if names.is_list(one) else text(names, one)
            for one in node.expressions
        )
        return f"({text(names, node.this)} IN ({inside}))"
    if isinstance(node, exp.Cast):
        word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        return f"{word}({text(names, node.this)} AS {str(names.data_type(node.to)).upper()})"
    if isinstance(node, exp.Bracket):
        return f"{text(names, node.this)}[{text(names, node.expressions[0])}]"
    if isinstance(node, exp.If):
        branches = [node.this, node.args["true"], node.args.get("false")]
        return f"if({', '.join(text(names, b) for b in branches if b is not None)})"
    if isinstance(node, exp.Case):
        return _case(names, node)
    if isinstance(node, exp.Anonymous):
        inside = ", ".join(
            names.raw(a)[1:-1] if names.is_list(a) else text(names, a) for a in node.expressions
        )
        return f"{call_name(node)}({inside})"
    raise names.outside(node)


def _case(names: Names, node: exp.Expr) -> str:
    parts = [f"CASE {text(names, node.this)}" if node.this else "CASE"]
    parts += [
        f"WHEN {text(names, one.this)} THEN {text(names, one.args['true'])}"
        for one in node.args["ifs"]
    ]
    if node.args.get("default"):
        parts.append(f"ELSE {text(names, node.args['default'])}")
    return " ".join([*parts, "END"])

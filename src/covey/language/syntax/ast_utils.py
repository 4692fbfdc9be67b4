"""Helpers for sqlglot's nodes: signs of operators, parentheses, chains of ANDs and ORs."""

from __future__ import annotations

import re

from sqlglot import exp

from covey.language.values import literals

__all__ = [
    "ARITHMETIC",
    "BITWISE",
    "COMPARISONS",
    "LIKES",
    "call_name",
    "flatten_chain",
    "strip_parentheses",
    "unwrap_parentheses",
]

ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
}
BITWISE: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "&", exp.BitwiseXor: "^", exp.BitwiseOr: "|",
}  # fmt: skip
COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}  # fmt: skip
LIKES: dict[type[exp.Expr], str] = {exp.Like: "LIKE", exp.ILike: "ILIKE", exp.RegexpLike: "RLIKE"}


def call_name(node: exp.Expr) -> str:
    """Return the name of the called function in lower case, without quotes."""
    function = node.this
    return (function.name if isinstance(function, exp.Identifier) else str(function)).lower()


def unwrap_parentheses(node: exp.Expr) -> exp.Expr:
    """Return an expression without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def flatten_chain(node: exp.Expr) -> list[exp.Expr]:
    """Return the operands of a chain of ANDs or of ORs, from left to right."""
    connective, operands, stack = type(node), [], [node]
    while stack:
        operand = unwrap_parentheses(stack.pop())
        if type(operand) is connective:
            stack += [operand.expression, operand.this]
        else:
            operands.append(operand)
    return operands


def strip_parentheses(text: str) -> str:
    """Return a text without the parentheses that enclose the whole text, if there are any."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for parenthesis in _PARENTHESIS.finditer(literals.blank_literals(text)):
        if depth == 0 and parenthesis.start() > 0:
            return text  # the first parenthesis is that of a list of literals
        depth += 1 if parenthesis.group() == "(" else -1
        if depth == 0:
            return text[1:-1] if parenthesis.end() == len(text) else text
    return text


_PARENTHESIS = re.compile("[()]")

"""Small facts about the parser's nodes: operators by their signs, parentheses, chains."""

from __future__ import annotations

from sqlglot import exp

from covey.language.values import literals

__all__ = [
    "ARITHMETIC",
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
COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}  # fmt: skip
LIKES: dict[type[exp.Expr], str] = {exp.Like: "LIKE", exp.ILike: "ILIKE", exp.RegexpLike: "RLIKE"}


def call_name(node: exp.Expr) -> str:
    """Return the name of the function that is called, in lower case; a quoted name is none else."""
    called = node.this
    return (called.name if isinstance(called, exp.Identifier) else str(called)).lower()


def unwrap_parentheses(node: exp.Expr) -> exp.Expr:
    """An expression without the parentheses round it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def flatten_chain(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a chain of ANDs or of ORs, from left to right."""
    kind, parts, todo = type(node), [], [node]
    while todo:
        one = unwrap_parentheses(todo.pop())
        if type(one) is kind:
            todo += [one.expression, one.this]
        else:
            parts.append(one)
    return parts


def strip_parentheses(text: str) -> str:
    """A text without the parentheses round all of it."""
    plain = literals.blank_literals(text)
    depth = 0
    for i, character in enumerate(plain):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if i == len(text) - 1 and text[0] == "(" else text
    return text

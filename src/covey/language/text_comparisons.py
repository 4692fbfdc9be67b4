"""Comparisons of columns with texts in a predicate: `city = 'Rome'`, `city IN ('Rome', 'Oslo')`."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from covey.language.syntax.grammar import PredicateTree, parse_tree
from covey.language.values.literals import split_list, unquote
from covey.space import PredicateLimits

__all__ = ["TextComparison", "find_text_comparisons"]


class TextComparison(NamedTuple):
    """A column, the text with which it is compared, and where the condition starts (from 0)."""

    column: str
    value: str
    offset: int


def find_text_comparisons(text: str, limits: PredicateLimits) -> list[TextComparison]:
    """Return the comparisons of plain columns with texts, in the order of the predicate.

    All conditions with =, <=> and IN are searched, including those under a NOT or an OR. There is
    one result for each text of an IN list.

    Raises:
        PredicateError: the predicate cannot be read.

    >>> find_text_comparisons("price > 5 AND city IN ('Rome', 'Oslo')", PredicateLimits())[1]
    TextComparison(column='city', value='Oslo', offset=14)
    """
    tree = parse_tree(text, limits)
    found = []
    for node in tree.root.find_all(exp.EQ, exp.NullSafeEQ, exp.In):
        column = _find_column(node)
        if column is not None:
            offset = tree.error("", node).offset
            found += [TextComparison(column, value, offset) for value in _list_texts(tree, node)]
    return sorted(found, key=lambda one: one.offset)


def _find_column(node: exp.Expr) -> str | None:
    """Return the name of the plain column of a comparison, or None if there is not exactly one."""
    sides = [node.this] if isinstance(node, exp.In) else [node.this, node.expression]
    names = [side.name for side in sides if isinstance(side, exp.Column) and not side.table]
    return str(names[0]) if len(names) == 1 else None


def _list_texts(tree: PredicateTree, node: exp.Expr) -> list[str]:
    """Return the text literals of a comparison, decoded."""
    sides = node.expressions if isinstance(node, exp.In) else [node.this, node.expression]
    raws = [tree.raws[tree.slot_of(side)] for side in sides if isinstance(side, exp.Literal)]
    parts = [part for raw in raws for part in (split_list(raw) if raw[0] == "(" else (raw,))]
    return [unquote(part) for part in parts if part[:1] in ("'", '"')]

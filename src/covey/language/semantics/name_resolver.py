"""Resolution of names in a predicate: columns, fields and types.

The resolver also collects the literals that become part of the names of derived attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp

from covey.errors import PredicateError, SchemaError
from covey.language.diagnostics import common_mistakes
from covey.language.diagnostics.unsupported_sql import UNSUPPORTED_NODES
from covey.language.syntax.ast_utils import COMPARISONS, LIKES
from covey.language.syntax.grammar import PredicateTree
from covey.language.values import literals
from covey.language.values.literals import LiteralError
from covey.space.space import Attribute, Space
from covey.space.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Type,
    array_type,
    decimal_type,
)
from covey.sql_names import quote_identifier

__all__ = ["NameResolver"]

_TYPES = {
    "TINYINT": TINYINT, "SMALLINT": SMALLINT, "INT": INT, "BIGINT": BIGINT, "FLOAT": FLOAT,
    "DOUBLE": DOUBLE, "TEXT": STRING, "BOOLEAN": BOOLEAN, "DATE": DATE, "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP, "TIMESTAMPNTZ": TIMESTAMP_NTZ,
}  # fmt: skip
_SIZED = re.compile(r"\b(?:varchar|char(?:acter)?)\s*\(", re.IGNORECASE)


_MAX_LISTED = 1_000  # literals in one list of arguments
_MAX_SIZE_DIGITS = 9  # digits of the size of a type, without leading zeros


class NameResolver:
    """Resolver of the names of one tree.

    `fixed_slots` collects the slots whose literals become part of the name of a derived attribute,
    and so of the compiled template.
    """

    def __init__(self, tree: PredicateTree, space: Space) -> None:
        self.tree, self.space = tree, space
        self.fixed_slots: set[int] = set()
        self.columns: dict[str, list[Attribute]] = {}
        for column in space.columns:
            self.columns.setdefault(column.name.lower(), []).append(column)

    def resolve_column(self, identifier: exp.Expr) -> Attribute:
        """Return the column that an identifier names; upper and lower case are not distinguished.

        Raises:
            PredicateError: there is no such column, or several columns have names that differ only
                in case.
        """
        columns = self.columns.get(identifier.name.lower(), [])
        if len(columns) == 1:
            return columns[0]
        if columns:
            raise self.tree.error(
                f"{identifier.name!r} could be any of the columns "
                f"{', '.join(c.name for c in columns)}",
                identifier,
            )
        names = [column.name for column in self.space.columns]
        hint = _suggest_name(identifier.name, names)
        if not hint.startswith("did"):
            hint = common_mistakes.suggest_for_name(
                identifier.name, hint, _stands_for_value(identifier)
            )
        raise self.tree.error(f"no column {identifier.name!r}", identifier, hint)

    def resolve_path(self, node: exp.Column | exp.Dot) -> tuple[Type, str]:
        """Return the type and the canonical text of a column, or of a field inside a column.

        Raises:
            PredicateError: there is no such column or field, or several have names that differ only
                in case.
        """
        parts = list(node.parts)
        if any(not isinstance(part, exp.Identifier) for part in parts) or node.find(exp.Func):
            raise self.unsupported_error(node)
        if len(parts) > 1 and self._is_alias(parts):
            raise self.tree.error(
                f"no column {parts[0].name!r}", node, f"write {parts[1].name} alone"
            )
        column = self.resolve_column(parts[0])
        type_, names = column.type, [quote_identifier(column.name)]
        for part in parts[1:]:
            if type_.name != "struct":
                raise self.tree.error(
                    f"{'.'.join(names)} is {type_} and has no field {part.name!r}", part
                )
            fields = [f for f in type_.fields if f[0].lower() == part.name.lower()]
            if len(fields) > 1:
                raise self.tree.error(
                    f"{part.name!r} could be any of the fields {', '.join(f[0] for f in fields)} "
                    f"of {'.'.join(names)}",
                    part,
                )
            if not fields:
                raise self.tree.error(
                    f"{'.'.join(names)} has no field {part.name!r}",
                    part,
                    _suggest_name(part.name, [f[0] for f in type_.fields], "its fields"),
                )
            names.append(quote_identifier(fields[0][0], is_field=True))
            type_ = fields[0][1]
        return type_, ".".join(names)

    def _is_alias(self, identifiers: Sequence[exp.Expr]) -> bool:
        """Return whether the first name is not a column, but the second is.

        In that case, the first name is probably that of a table.
        """
        return (
            identifiers[0].name.lower() not in self.columns
            and identifiers[1].name.lower() in self.columns
        )

    def resolve_type(self, node: exp.Expr) -> Type:
        """Return the type that a CAST names; raise PredicateError if it is not supported."""
        name = node.this.name if hasattr(node.this, "name") else str(node.this)
        if isinstance(node.this, exp.Interval):
            name = "INTERVAL"
        if name == "DECIMAL":
            numbers = [n for p in node.expressions for n in self._read_type_sizes(p.this)]
            try:
                return decimal_type(*[*numbers, 0][:2]) if numbers else decimal_type(10, 0)
            except SchemaError as error:
                raise self.tree.error(str(error), node) from None
        if name == "TEXT" and _SIZED.search(common_mistakes.mask_literals(self.tree.text)):
            raise self.tree.error_at_pattern(
                _SIZED.pattern, "a CAST to a text of limited length is outside the language",
                hint="CAST to string",
            )  # fmt: skip
        if name == "ARRAY" and len(node.expressions) == 1:
            return array_type(self.resolve_type(node.expressions[0]))
        if name not in _TYPES:
            raise self.tree.error(
                f"a CAST to {name.lower()} is outside the language", node, "cast to a scalar type"
            )
        return _TYPES[name]

    def _read_type_sizes(self, node: exp.Expr) -> list[int]:
        """Return the numbers in parentheses after a type's name."""
        raws = literals.split_list(self.fix_literal(node))
        if not all(raw.isdigit() for raw in raws):
            raise self.tree.error("the size of a type must be a whole number", node)
        if any(len(raw.lstrip("0")) > _MAX_SIZE_DIGITS for raw in raws):
            raise self.tree.error("the size of this type is too large", node, "write at most 38")
        return [int(raw.lstrip("0") or "0") for raw in raws]

    def fix_literal(self, node: exp.Expr) -> str:
        """Return a literal as written, and add its slot to `fixed_slots`."""
        slot = self.tree.slot_of(node)
        self.fixed_slots.add(slot)
        raw = self.tree.raws[slot]
        return f"r{raw}" if isinstance(node, exp.RawString) else raw

    def fix_number(self, node: exp.Expr) -> str | None:
        """Return a number as written, with its minus sign, and add its slot to `fixed_slots`.

        Return None if the expression is not a number.
        """
        inner = node.this if isinstance(node, exp.Neg) else node
        if not isinstance(inner, exp.Literal) or inner.is_string or self.is_literal_list(inner):
            return None
        raw = self.fix_literal(inner)
        signed = f"-{raw}" if inner is not node else raw
        try:
            literals.decode_literal(signed)
        except LiteralError as error:
            raise self.tree.error(str(error), node) from None
        return signed

    def is_literal_list(self, node: exp.Expr) -> bool:
        """Return whether a node is a list of literals."""
        return isinstance(node, exp.Literal) and self.tree.raws[self.tree.slot_of(node)][0] == "("

    def fix_literal_types(self, node: exp.Expr) -> list[Type]:
        """Return the types of a literal or of a list's values, and add the slot to `fixed_slots`.

        Raises:
            PredicateError: a literal cannot be decoded, or there are too many.
        """
        if self.fix_literal(node).count(",") >= _MAX_LISTED:
            raise self.tree.error(
                f"a list in an expression may have at most {_MAX_LISTED:,} literals", node,
                "write fewer literals, or add a column with the value to the events",
            )  # fmt: skip
        try:
            return [
                literals.decode_literal(raw).type
                for raw in literals.split_list(self.fix_literal(node))
            ]
        except LiteralError as error:
            raise self.tree.error(str(error), node) from None

    def find_common_mistake(self) -> PredicateError | None:
        """Return the error of the first common mistake in the text, or None."""
        mistake = common_mistakes.find_common_mistake(self.tree.text)
        if mistake is None:
            return None
        return PredicateError(mistake.problem, self.tree.text, mistake.offset, mistake.hint)

    def unsupported_error(self, node: exp.Expr) -> PredicateError:
        """Return the error of an expression that covey does not accept, even if Spark does."""
        inner = node.args.get("query") or node.find(exp.Lambda) or node
        mistake_error = self.find_common_mistake()
        if mistake_error:
            return mistake_error
        for node_types, pattern, problem, hint in UNSUPPORTED_NODES:
            if isinstance(inner, node_types):
                return self.tree.error_at_pattern(pattern, problem, hint=hint)
        word = type(inner).__name__
        if word.startswith("Current"):
            return self.tree.error_at_pattern(
                r"\b(current|local)", "the current time is not a function of the event alone",
                hint="write a literal, or add a column to the events",
            )  # fmt: skip
        return self.tree.error(
            f"{word} is outside the language", inner, "add a column with its value to the events"
        )


def _stands_for_value(identifier: exp.Expr) -> bool:
    """Return whether a literal is usual at the position of an unknown name.

    If it is, quotes around the name may be missing.
    """
    column = identifier.parent
    parent = column.parent if isinstance(column, exp.Column) else None
    if isinstance(parent, exp.In):
        return parent.this is not column
    if isinstance(parent, exp.Anonymous):
        return parent.expressions[0] is not column
    if parent is None or type(parent) not in {**COMPARISONS, **LIKES}:
        return False
    return parent.args.get("expression") is column


def _suggest_name(name: str, names: Sequence[str], what: str = "the columns") -> str:
    """Return the suggestion for an unknown name: a similar name, or the first eight names.

    `names` are the known names; if there are none, the suggestion is empty. `what` is how the
    message calls them.
    """
    similar = get_close_matches(name.lower(), [n.lower() for n in names], 1, 0.6)
    if similar:
        return f"did you mean {next(n for n in names if n.lower() == similar[0])}?"
    if not names:
        return ""
    return f"{what} are {', '.join(names[:8])}{'…' if len(names) > 8 else ''}"

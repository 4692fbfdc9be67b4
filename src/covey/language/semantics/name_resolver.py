"""Names in a predicate: columns and fields, types, and the literals that become part of a name."""

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
_SIZED = re.compile(r"\b(?:var)?char\s*\(", re.IGNORECASE)


_MAX_LISTED = 1_000
_MAX_SIZE_DIGITS = 9  # of the size of a type, zeros before it not counted


class NameResolver:
    """The names of one tree. `fixed_slots` collects those whose literals are part of a name."""

    def __init__(self, tree: PredicateTree, space: Space) -> None:
        self.tree, self.space = tree, space
        self.fixed_slots: set[int] = set()
        self.columns: dict[str, list[Attribute]] = {}
        for column in space.columns:
            self.columns.setdefault(column.name.lower(), []).append(column)

    def resolve_column(self, identifier: exp.Expr) -> Attribute:
        found = self.columns.get(identifier.name.lower(), [])
        if len(found) == 1:
            return found[0]
        if found:
            raise self.tree.error(
                f"{identifier.name!r} could be any of {', '.join(c.name for c in found)}",
                identifier,
            )
        names = [column.name for column in self.space.columns]
        near = _suggest_name(identifier.name, names)
        if not near.startswith("did"):
            near = common_mistakes.suggest_for_name(
                identifier.name, near, _stands_for_value(identifier)
            )
        raise self.tree.error(f"no column {identifier.name!r}", identifier, near)

    def resolve_path(self, node: exp.Column | exp.Dot) -> tuple[Type, str]:
        """The type and text of a column, or of a field inside one."""
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
                    f"{'.'.join(names)} is {type_}, it has no field {part.name!r}", part
                )
            found = [f for f in type_.fields if f[0].lower() == part.name.lower()]
            if len(found) != 1:
                raise self.tree.error(
                    f"{'.'.join(names)} has no field {part.name!r}",
                    part,
                    _suggest_name(part.name, [f[0] for f in type_.fields], "its fields"),
                )
            names.append(quote_identifier(found[0][0], is_field=True))
            type_ = found[0][1]
        return type_, ".".join(names)

    def _is_alias(self, identifiers: Sequence[exp.Expr]) -> bool:
        """Whether a name before a column is that of a table."""
        return (
            identifiers[0].name.lower() not in self.columns
            and identifiers[1].name.lower() in self.columns
        )

    def resolve_type(self, node: exp.Expr) -> Type:
        """A type as written in a CAST."""
        name = node.this.name if hasattr(node.this, "name") else str(node.this)
        if name == "DECIMAL":
            numbers = [n for p in node.expressions for n in self._read_type_sizes(p.this)]
            try:
                return decimal_type(*[*numbers, 0][:2]) if numbers else decimal_type(10, 0)
            except SchemaError as error:
                raise self.tree.error(str(error), node) from None
        if name == "TEXT" and _SIZED.search(common_mistakes.mask_literals(self.tree.text)):
            raise self.tree.error_at_pattern(
                _SIZED.pattern, "a text of limited length is outside the language",
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
        written = literals.split_list(self.fix_literal(node))
        if not all(one.isdigit() for one in written):
            raise self.tree.error("the size of a type is a whole number", node)
        if any(len(one.lstrip("0")) > _MAX_SIZE_DIGITS for one in written):
            raise self.tree.error("the size of this type is too large", node, "write 38 at most")
        return [int(one.lstrip("0") or "0") for one in written]

    def fix_literal(self, node: exp.Expr) -> str:
        """A literal as written, which becomes part of a name."""
        slot = self.tree.slot_of(node)
        self.fixed_slots.add(slot)
        raw = self.tree.raws[slot]
        return f"r{raw}" if isinstance(node, exp.RawString) else raw

    def fix_number(self, node: exp.Expr) -> str | None:
        """A number as written, with a minus that stands before it; `None` for anything else."""
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
        """Whether a literal node stands for a list of literals."""
        return isinstance(node, exp.Literal) and self.tree.raws[self.tree.slot_of(node)][0] == "("

    def fix_literal_types(self, node: exp.Expr) -> list[Type]:
        """The type of a literal, or those of the values of a list."""
        if self.fix_literal(node).count(",") >= _MAX_LISTED:
            raise self.tree.error(
                f"a function may have {_MAX_LISTED:,} literals", node,
                "give it fewer, or add a column with its value to the events",
            )  # fmt: skip
        try:
            return [
                literals.decode_literal(one).type
                for one in literals.split_list(self.fix_literal(node))
            ]
        except LiteralError as error:
            raise self.tree.error(str(error), node) from None

    def find_common_mistake(self) -> PredicateError | None:
        """A mistake that people often make, if the text has one."""
        known = common_mistakes.find_common_mistake(self.tree.text)
        return known and PredicateError(known.problem, self.tree.text, known.offset, known.hint)

    def unsupported_error(self, node: exp.Expr) -> PredicateError:
        """The error of something that Spark may read and covey does not."""
        inner = node.args.get("query") or node.find(exp.Lambda) or node
        known = self.find_common_mistake()
        if known:
            return known
        for kinds, words, problem, hint in UNSUPPORTED_NODES:
            if isinstance(inner, kinds):
                return self.tree.error_at_pattern(words, problem, hint=hint)
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
    """Whether a name stands where a literal usually stands."""
    column = identifier.parent
    around = column.parent if isinstance(column, exp.Column) else None
    if isinstance(around, exp.In):
        return around.this is not column
    if isinstance(around, exp.Anonymous):
        return around.expressions[0] is not column
    if around is None or type(around) not in {**COMPARISONS, **LIKES}:
        return False
    return around.args.get("expression") is column


def _suggest_name(name: str, names: Sequence[str], what: str = "the columns") -> str:
    near = get_close_matches(name.lower(), [n.lower() for n in names], 1, 0.6)
    if near:
        return f"did you mean {next(n for n in names if n.lower() == near[0])}?"
    if not names:
        return ""
    return f"{what} are {', '.join(names[:8])}{'…' if len(names) > 8 else ''}"

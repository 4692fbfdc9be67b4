"""Resolution of names in a predicate: columns, fields and types.

The resolver also collects the literals that become part of the names of derived attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from difflib import get_close_matches

from sqlglot import exp

from covey.errors import PredicateError, SchemaError
from covey.language.diagnostics import common_mistakes
from covey.language.diagnostics.unsupported_sql import UNSUPPORTED_NODES
from covey.language.syntax.ast_utils import COMPARISONS, LIKES
from covey.language.syntax.grammar import PredicateTree
from covey.language.values import literals
from covey.language.values.literals import LiteralError
from covey.language.values.sql_literals import quote_string
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

__all__ = ["NameResolver", "resolve_keywords"]

_TYPES = {
    "TINYINT": TINYINT, "SMALLINT": SMALLINT, "INT": INT, "BIGINT": BIGINT, "FLOAT": FLOAT,
    "DOUBLE": DOUBLE, "TEXT": STRING, "BOOLEAN": BOOLEAN, "DATE": DATE, "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP, "TIMESTAMPNTZ": TIMESTAMP_NTZ,
}  # fmt: skip
_OTHER_TYPES = {
    "BINARY": "BINARY", "VARIANT": "VARIANT", "INTERVAL": "INTERVAL", "TIME": "TIME",
    "NULL": "VOID",
}  # fmt: skip

_ONE_CASE = "Spark does not distinguish upper and lower case"
_MAX_LISTED = 1_000  # literals in one list of arguments
_MAX_SIZE_DIGITS = 9  # digits of the size of a type, without leading zeros


_KEYWORDS = frozenset({"current_date", "current_timestamp", "current_user", "session_user"})
"""Functions that are called without parentheses."""
_KEYWORD = re.compile("|".join(_KEYWORDS), re.IGNORECASE)


def resolve_keywords(tree: PredicateTree, space: Space) -> PredicateTree:
    """Return a tree with calls in place of names such as `current_date` that are no columns.

    Like Spark, take such a name for a variable of a lambda function if there is one, then for a
    column, and only then for the function.
    """
    if not _KEYWORD.search(tree.text):
        return tree
    columns, root = {column.name.lower() for column in space.columns}, tree.root
    for node in list(root.find_all(exp.Column)):
        name = node.name.lower()
        is_free = len(node.parts) == 1 and _find_lambda(node, name) is None
        if name not in _KEYWORDS or name in columns or not is_free:
            continue
        call = exp.Anonymous(this=name)
        call.meta.update(node.this.meta)
        if node is root:
            root = call
        else:
            node.replace(call)
    return replace(tree, root=root)


def _find_lambda(node: exp.Expr, name: str) -> exp.Lambda | None:
    """Return the innermost lambda function around a node with a variable of this name, or None."""
    function = node.find_ancestor(exp.Lambda)
    while function is not None:
        if name in (variable.name.lower() for variable in function.expressions):
            return function
        function = function.find_ancestor(exp.Lambda)
    return None


class NameResolver:
    """Resolver of the names of one tree.

    `fixed_slots` collects the slots whose literals become part of the name of a derived attribute,
    and so of the compiled template. `read_slots` lists the same slots in the order of reading.
    `chosen_literals` contains, by slot, the literals with which expressions are attributes.
    `typed_slots` collects the slots of literals in expressions that Spark has analysed, or must.
    `pattern_slots` collects the slots of patterns of LIKE that were checked, `raw_slots` those of
    raw strings in expressions.
    """

    def __init__(self, tree: PredicateTree, space: Space) -> None:
        self.tree, self.space = tree, space
        self.fixed_slots: set[int] = set()
        self.read_slots: list[int] = []
        self.chosen_literals: dict[int, frozenset[str]] = {}
        self.typed_slots: set[int] = set()
        self.pattern_slots: set[int] = set()
        self.raw_slots: set[int] = set()
        self.columns: dict[str, list[Attribute]] = {}
        for column in space.columns:
            self.columns.setdefault(column.name.lower(), []).append(column)

    def without_fixing(self) -> NameResolver:
        """Return a resolver of the same names that does not change `fixed_slots` of this one."""
        other = copy(self)
        other.fixed_slots, other.read_slots = set(), []
        return other

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
                f"{', '.join(c.name for c in columns)}: {_ONE_CASE}",
                identifier,
                "rename all but one of them in the events",
            )
        names = [column.name for column in self.space.columns]
        hint = _suggest_name(identifier.name, names)
        if not hint.startswith("did"):
            hint = common_mistakes.suggest_for_name(
                identifier.name, hint, _stands_for_value(identifier)
            )
        raise self.tree.error(f"no column {identifier.name!r}", identifier, hint)

    def is_path(self, node: exp.Expr) -> bool:
        """Return whether a node is a column, a variable of a lambda function, or a field of one."""
        if isinstance(node, exp.Dot):
            return isinstance(node.expression, exp.Identifier) and self.is_path(node.this)
        return isinstance(node, exp.Column)

    def is_variable(self, node: exp.Expr) -> bool:
        """Return whether a node is a variable of a lambda function, or a field of one."""
        return (
            self.is_path(node) and self._find_variable(node, node.parts[0].name) is not None  # type: ignore[attr-defined]
        )

    def resolve_path(self, node: exp.Expr) -> tuple[Type | None, str]:
        """Return the type and the canonical text of a path, for which `is_path` holds.

        The type is None if only Spark knows it. That is the case for variables of lambda functions,
        for values of maps, and for the fields of structs in an array.

        Raises:
            PredicateError: there is no such column or field, or several have names that differ only
                in case.
        """
        parts = list(node.parts)  # type: ignore[attr-defined]
        if (variable := self._find_variable(node, parts[0].name)) is not None:
            return None, ".".join([variable, *map(_quote_field, parts[1:])])
        if len(parts) > 1 and self._is_alias(parts):
            raise self.tree.error(
                f"no column {parts[0].name!r}", node, f"write {parts[1].name} alone"
            )
        column = self.resolve_column(parts[0])
        type_, names = column.type, [quote_identifier(column.name)]
        for i, part in enumerate(parts[1:], 1):
            if type_.name.startswith("arrow:") or (type_.name == "array" and type_.element):
                return None, ".".join([*names, *map(_quote_field, parts[i:])])
            if type_.name != "struct":
                raise self.tree.error(
                    f"{'.'.join(names)} is {type_} and has no field {part.name!r}", part,
                    f"write {'.'.join(names)} alone",
                )  # fmt: skip
            fields = [f for f in type_.fields if f[0].lower() == part.name.lower()]
            if len(fields) > 1:
                raise self.tree.error(
                    f"{part.name!r} could be any of the fields {', '.join(f[0] for f in fields)} "
                    f"of {'.'.join(names)}: {_ONE_CASE}",
                    part,
                    "rename all but one of them in the events",
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

    def find_columns(self, node: exp.Expr) -> list[Attribute]:
        """Return the columns that an expression reads, in their order; some may occur repeatedly.

        Raises:
            PredicateError: there is no such column, or there are several.
        """
        return [
            self.resolve_column(column.parts[0])
            for column in node.find_all(exp.Column)
            if self._find_variable(column, column.parts[0].name) is None
        ]

    def name_variables(self, node: exp.Lambda) -> list[str]:
        """Return the canonical names of the variables of a lambda function.

        Raises:
            PredicateError: two variables have the same name.
        """
        names = [name.name.lower() for name in node.expressions]
        if len(set(names)) < len(names):
            raise self.tree.error("two variables have the same name", node, "rename one of them")
        prefix = "covey_v"
        while any(column.startswith(prefix) for column in self.columns):
            prefix += "_"
        outer = node.find_ancestor(exp.Lambda)
        first = 1
        while outer is not None:
            first += len(outer.expressions)
            outer = outer.find_ancestor(exp.Lambda)
        return [f"{prefix}{first + i}" for i in range(len(names))]

    def _find_variable(self, node: exp.Expr, name: str) -> str | None:
        """Return the canonical name of the variable that a name stands for at a node, or None."""
        function = _find_lambda(node, name.lower())
        if function is None:
            return None
        names = [variable.name.lower() for variable in function.expressions]
        return self.name_variables(function)[names.index(name.lower())]

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
        name = self._type_name(node)
        if name == "DECIMAL":
            numbers = [n for p in node.expressions for n in self._read_type_sizes(p.this)]
            if len(numbers) > 2:
                raise self.tree.error(
                    "DECIMAL takes at most two numbers", node, "write DECIMAL(10, 2)"
                )
            try:
                return decimal_type(*[*numbers, 0][:2]) if numbers else decimal_type(10, 0)
            except SchemaError as error:
                raise self.tree.error(str(error), node) from None
        if name == "ARRAY" and len(node.expressions) == 1:
            element = self.resolve_type(node.expressions[0])
            return array_type(element)
        return _TYPES[name] if name in _TYPES else Type(self.write_type(node))

    def write_type(self, node: exp.Expr) -> str:
        """Return the SQL of a type that a CAST names; raise PredicateError if it is unknown."""
        name = self._type_name(node)
        if name in _TYPES or name == "DECIMAL":
            return str(self.resolve_type(node)).upper()
        if name in ("ARRAY", "MAP"):
            inner = ", ".join(map(self.write_type, node.expressions))
            return f"{name}<{inner}>"
        if name == "STRUCT" and all(
            isinstance(field, exp.ColumnDef) and field.args.get("kind")
            and not field.args.get("constraints") for field in node.expressions
        ):  # fmt: skip
            fields = ", ".join(
                f"{_quote_field(field)}: {self.write_type(field.args['kind'])}"
                for field in node.expressions
            )
            return f"STRUCT<{fields}>"
        if isinstance(node.this, exp.Interval):
            unit = node.this.args["unit"]
            units = [unit.this, unit.expression] if isinstance(unit, exp.IntervalSpan) else [unit]
            return f"INTERVAL {' TO '.join(str(unit.name).upper() for unit in units)}"
        if name in _OTHER_TYPES and not node.expressions:
            return _OTHER_TYPES[name]
        raise self.tree.error(
            f"a CAST to {name.lower()} is outside the language", node, "cast to a scalar type"
        )

    def _type_name(self, node: exp.Expr) -> str:
        """Return sqlglot's name of a type."""
        name = node.this.name if hasattr(node.this, "name") else str(node.this)
        return "INTERVAL" if isinstance(node.this, exp.Interval) else name

    def _read_type_sizes(self, node: exp.Expr) -> list[int]:
        """Return the numbers in parentheses after a type's name."""
        raws = literals.split_list(self.fix_literal(node))
        if not all(raw.isdigit() for raw in raws):
            raise self.tree.error(
                "the size of a type must be a whole number", node, "write a number such as 10"
            )
        if any(len(raw.lstrip("0")) > _MAX_SIZE_DIGITS for raw in raws):
            raise self.tree.error("the size of this type is too large", node, "write at most 38")
        return [int(raw.lstrip("0") or "0") for raw in raws]

    def fix_literal(self, node: exp.Expr) -> str:
        """Return a literal as written, and add its slot to `fixed_slots`."""
        slot = self.tree.slot_of(node)
        self.fixed_slots.add(slot)
        self.read_slots.append(slot)
        raw = self.tree.raws[slot]
        return f"r{raw}" if isinstance(node, exp.RawString) else raw

    def fix_raw_string(self, node: exp.Expr) -> str:
        """Return the literal without a prefix that means the same as a raw string; fix its slot."""
        self.raw_slots.add(self.tree.slot_of(node))
        return quote_string(self.fix_literal(node)[2:-1])

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

    def is_typed_literal(self, node: exp.Expr) -> bool:
        """Return whether a node is a literal after the name of a type, as in `DATE '2024-05-31'`.

        sqlglot parses it like a CAST, but Spark reads such a literal before it runs a query.
        """
        return (
            isinstance(node, exp.Cast)
            and isinstance(node.this, exp.Literal)
            and self.tree.slot_of(node.this) in self.tree.typed_literals
        )

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
        return self.tree.error(
            f"{type(inner).__name__} is outside the language",
            inner,
            "add a column with its value to the events",
        )


def _quote_field(part: exp.Expr) -> str:
    return quote_identifier(part.name, is_field=True)


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

"""Expressions over an event's columns: their type, and their one text.

A plain column of an attribute type is that attribute. Anything else that stands where an attribute
may stand is a derived attribute, named by its canonical text: Spark computes it, once per event.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp

from covey.errors import PredicateError, SpaceError
from covey.language import literals, mistakes
from covey.language.coerce import common_of_list, common_of_pair
from covey.language.functions import CHANGING, FUNCTIONS, arithmetic, common
from covey.language.grammar import Tree
from covey.language.literals import LiteralError
from covey.language.outside import OUTSIDE, SHAPES
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
    VOID,
    Type,
    array,
    decimal,
)  # fmt: skip

__all__ = ["Expressions", "bare", "chain", "quoted", "unwrapped"]

_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
}
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}  # fmt: skip
_LIKES: dict[type[exp.Expr], str] = {exp.Like: "LIKE", exp.ILike: "ILIKE", exp.RegexpLike: "RLIKE"}
_TYPES = {
    "TINYINT": TINYINT, "SMALLINT": SMALLINT, "INT": INT, "BIGINT": BIGINT, "FLOAT": FLOAT,
    "DOUBLE": DOUBLE, "TEXT": STRING, "BOOLEAN": BOOLEAN, "DATE": DATE, "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP, "TIMESTAMPNTZ": TIMESTAMP_NTZ,
}  # fmt: skip
_SIZED = re.compile(r"\b(?:var)?char\s*\(", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Expressions:
    """The expressions of one tree. `fixed` collects the slots whose literals are part of a name."""

    def __init__(self, tree: Tree, space: Space) -> None:
        self.tree, self.space = tree, space
        self.fixed: set[int] = set()
        self._columns: dict[str, list[Attribute]] = {}
        for column in space.columns:
            self._columns.setdefault(column.name.lower(), []).append(column)

    def attribute(self, node: exp.Expr) -> Attribute:
        """The attribute that an expression is: a column, or a derived one."""
        node = unwrapped(node)
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            column = self.column(node.parts[0])
            if not column.type.is_attribute:
                raise self.tree.error(
                    f"column {column.name!r} is {column.type}", node,
                    "give its length in vectors={…}" if column.type.element == FLOAT
                    else "a vector is array<float>, its length given in vectors={…}"
                    if column.type.element == DOUBLE
                    else "name a field of it" if column.type.fields
                    else "take a part of it, or CAST it",
                )  # fmt: skip
            return column
        type_ = self.type_of(node)
        if not type_.is_attribute:
            raise self.tree.error(
                f"this is {type_}, which is no attribute", node,
                "name a field of it" if type_.fields else "CAST it, or take a part of it",
            )  # fmt: skip
        return self.derived(node, type_)

    def derived(self, node: exp.Expr, type_: Type) -> Attribute:
        """An expression as a derived attribute of a known type."""
        text = self.text(node)
        if not any(True for _ in node.find_all(exp.Column)):
            raise self.constant(node)
        name = bare(text)
        return Attribute(name, type_, is_derived=True)

    def type_of(self, node: exp.Expr) -> Type:
        """The type that Spark gives an expression."""
        node = unwrapped(node)
        if isinstance(node, exp.Column | exp.Dot):
            return self._path(node)[0]
        if isinstance(node, exp.Literal | exp.RawString | exp.Concat):
            return self._literal_type(node)
        if isinstance(node, exp.Boolean):
            return BOOLEAN
        if isinstance(node, exp.Null):
            return VOID
        if isinstance(node, exp.Neg):
            given = [self.type_of(node.this)]
            return self._checked(node, given, FUNCTIONS["negative"](given, self.space.settings))
        if type(node) in _ARITHMETIC:
            return self._arithmetic(node)
        if type(node) in _COMPARISONS or isinstance(
            node, exp.Between | exp.In | exp.Is | exp.And | exp.Or | exp.Not | exp.Escape
        ) or type(node) in _LIKES:  # fmt: skip
            self._check_condition(node)
            return BOOLEAN
        if isinstance(node, exp.Cast):
            self.type_or_none(node.this)
            return self.data_type(node.to)
        if isinstance(node, exp.DPipe):
            return STRING
        if isinstance(node, exp.Bracket):
            return self._element(node)
        if isinstance(node, exp.If):
            branches = [node.args["true"], node.args.get("false") or exp.Null()]
            return self._alternatives(node, [node.this], branches)
        if isinstance(node, exp.Case):
            return self._case(node)
        if isinstance(node, exp.Anonymous):
            return self._function(node)
        raise self.outside(node)

    def type_or_none(self, node: exp.Expr) -> Type | None:
        """The type, or `None` for a function that is not known (what it reads is still checked)."""
        node = unwrapped(node)
        if isinstance(node, exp.Anonymous) and str(node.this).lower() not in FUNCTIONS:
            self._check_steady(node)
            for argument in node.expressions:
                self.type_or_none(argument)
            return None
        return self.type_of(node)

    def text(self, node: exp.Expr) -> str:
        """The one text of an expression; what is not a name or a call stands in parentheses."""
        node = unwrapped(node)
        if isinstance(node, exp.Column | exp.Dot):
            return self._path(node)[1]
        if isinstance(node, exp.Literal | exp.RawString):
            return self._raw(node)
        if isinstance(node, exp.Concat):
            return " ".join(self._raw(one) for one in node.expressions)
        if isinstance(node, exp.Boolean):
            return "true" if node.this else "false"
        if isinstance(node, exp.Null):
            return "NULL"
        if isinstance(node, exp.Neg):
            return f"(- {self.text(node.this)})"
        binary = {**_ARITHMETIC, **_COMPARISONS, exp.And: "AND", exp.Or: "OR", exp.DPipe: "||"}.get(
            type(node)
        )
        if binary:
            return f"({self.text(node.this)} {binary} {self.text(node.expression)})"
        if type(node) in _LIKES:
            word = ("NOT " if node.args.get("negate") else "") + _LIKES[type(node)]
            return f"({self.text(node.this)} {word} {self.text(node.expression)})"
        if isinstance(node, exp.Escape):
            return f"({self.text(node.this)[1:-1]} ESCAPE {self.text(node.expression)})"
        if isinstance(node, exp.Not):
            return f"(NOT {self.text(node.this)})"
        if isinstance(node, exp.Is):
            return f"({self.text(node.this)} IS {self.text(node.expression)})"
        if isinstance(node, exp.Between):
            low, high = self.text(node.args["low"]), self.text(node.args["high"])
            return f"({self.text(node.this)} BETWEEN {low} AND {high})"
        if isinstance(node, exp.In):
            inside = ", ".join(
                self._raw(one)[1:-1] if self.is_list(one) else self.text(one)
                for one in node.expressions
            )
            return f"({self.text(node.this)} IN ({inside}))"
        if isinstance(node, exp.Cast):
            word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
            return f"{word}({self.text(node.this)} AS {str(self.data_type(node.to)).upper()})"
        if isinstance(node, exp.Bracket):
            return f"{self.text(node.this)}[{self.text(node.expressions[0])}]"
        if isinstance(node, exp.If):
            branches = [node.this, node.args["true"], node.args.get("false")]
            return f"if({', '.join(self.text(b) for b in branches if b is not None)})"
        if isinstance(node, exp.Case):
            return self._case_text(node)
        if isinstance(node, exp.Anonymous):
            inside = ", ".join(
                self._raw(a)[1:-1] if self.is_list(a) else self.text(a) for a in node.expressions
            )
            return f"{str(node.this).lower()}({inside})"
        raise self.outside(node)

    def data_type(self, node: exp.Expr) -> Type:
        """A type as written in a CAST."""
        name = node.this.name if hasattr(node.this, "name") else str(node.this)
        if name == "DECIMAL":
            numbers = [n for p in node.expressions for n in self._numbers(p.this)]
            try:
                return decimal(*[*numbers, 0][:2]) if numbers else decimal(10, 0)
            except SpaceError as error:
                raise self.tree.error(str(error), node) from None
        if name == "TEXT" and _SIZED.search(mistakes.masked(self.tree.text)):
            raise self.tree.error_at(
                _SIZED.pattern, "a text of limited length is outside the language",
                hint="CAST to string",
            )  # fmt: skip
        if name == "ARRAY" and len(node.expressions) == 1:
            return array(self.data_type(node.expressions[0]))
        if name not in _TYPES:
            raise self.tree.error(
                f"a CAST to {name.lower()} is outside the language", node, "cast to a scalar type"
            )
        return _TYPES[name]

    def _numbers(self, node: exp.Expr) -> list[int]:
        raw = self._raw(node)
        return [int(one) for one in literals.elements(raw) if one.isdigit()]

    def _raw(self, node: exp.Expr) -> str:
        slot = self.tree.slot(node)
        self.fixed.add(slot)
        raw = self.tree.raws[slot]
        return f"r{raw}" if isinstance(node, exp.RawString) else raw

    def is_list(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Literal) and self.tree.raws[self.tree.slot(node)][0] == "("

    def _literal_type(self, node: exp.Expr) -> Type:
        if isinstance(node, exp.RawString | exp.Concat):
            return STRING
        types = set(self._types_in(node))
        if len(types) != 1:
            raise self.tree.error("a list cannot stand here", node)
        return types.pop()

    def _types_in(self, node: exp.Expr) -> list[Type]:
        """The type of a literal, or those of the values of a list."""
        try:
            return [literals.decode(one).type for one in literals.elements(self._raw(node))]
        except LiteralError as error:
            raise self.tree.error(str(error), node) from None

    def _path(self, node: exp.Column | exp.Dot) -> tuple[Type, str]:
        """The type and text of a column, or of a field inside one."""
        parts = list(node.parts)
        if any(not isinstance(part, exp.Identifier) for part in parts) or node.find(exp.Func):
            raise self.outside(node)
        if len(parts) > 1 and self._is_alias(parts):
            raise self.tree.error(
                f"no column {parts[0].name!r}", node, f"write {parts[1].name} alone"
            )
        column = self.column(parts[0])
        type_, names = column.type, [quoted(column.name)]
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
                    _nearest(part.name, [f[0] for f in type_.fields], "its fields"),
                )
            names.append(quoted(found[0][0]))
            type_ = found[0][1]
        return type_, ".".join(names)

    def column(self, identifier: exp.Expr) -> Attribute:
        found = self._columns.get(identifier.name.lower(), [])
        if len(found) == 1:
            return found[0]
        if found:
            raise self.tree.error(
                f"{identifier.name!r} could be any of {', '.join(c.name for c in found)}",
                identifier,
            )
        names = [column.name for column in self.space.columns]
        near = _nearest(identifier.name, names)
        if not near.startswith("did"):
            near = mistakes.unknown_name(identifier.name, near, _is_value(identifier))
        raise self.tree.error(f"no column {identifier.name!r}", identifier, near)

    def _is_alias(self, parts: Sequence[exp.Expr]) -> bool:
        """Whether a name before a column is that of a table."""
        return parts[0].name.lower() not in self._columns and parts[1].name.lower() in self._columns

    def constant(self, node: exp.Expr) -> PredicateError:
        """The error of a condition without a column; a column in quotes is no column."""
        for literal in node.find_all(exp.Literal):
            raw = self.tree.raws[self.tree.slot(literal)]
            if raw[0] in "'\"" and raw[1:-1].lower() in self._columns:
                return self.tree.error(
                    f"{raw} is a text, not the column", literal, f"write {quoted(raw[1:-1])}"
                )
        return self.tree.error(
            "this does not depend on the event", node, "compare a column with a literal"
        )

    def _arithmetic(self, node: exp.Expr) -> Type:
        op = _ARITHMETIC[type(node)]
        left, right = unwrapped(node.this), unwrapped(node.expression)
        a, b = self._beside(left, right), self._beside(right, left)
        result = arithmetic(op, a, b, self.space.settings)
        if result is None:
            raise self._usual() or self.tree.error(
                f"{a} {op} {b} is outside the language", node,
                "use date_add" if a.is_datetime or b.is_datetime
                else "write || to join texts" if op == "+" and a == b == STRING
                else "CAST both sides to numbers",
            )  # fmt: skip
        return result

    def _beside(self, node: exp.Expr, other: exp.Expr) -> Type:
        """A side's type; beside a decimal an integer literal counts only the digits it has."""
        type_ = self.type_of(node)
        if isinstance(node, exp.Literal) and type_.is_integral and self.type_of(other).is_decimal:
            return decimal(len(self._raw(node).strip("()LlSsYy").lstrip("0")) or 1, 0)
        return type_

    def _check_condition(self, node: exp.Expr) -> None:
        """A condition inside an expression: both sides must be comparable."""
        if isinstance(node, exp.And | exp.Or):
            operands = [node.this, node.expression]
        elif isinstance(node, exp.Not):
            operands = [node.this]
        else:
            operands = []
        for operand in operands:
            if self.type_of(operand) not in (BOOLEAN, VOID):
                raise self.tree.error(
                    "AND, OR and NOT take conditions", operand, "use IN for several values"
                )
        if type(node) in _COMPARISONS:
            self._check_pair(node.this, node.expression)
        elif isinstance(node, exp.Between):
            if node.args.get("symmetric"):
                raise self.tree.error("Spark has no BETWEEN SYMMETRIC", node, "write BETWEEN")
            self._check_pair(node.this, node.args["low"])
            self._check_pair(node.this, node.args["high"])
        elif isinstance(node, exp.In):
            if not node.expressions:
                raise self.outside(node)
            types = [self.type_of(node.this)]
            for one in node.expressions:
                types += self._types_in(one) if self.is_list(one) else [self.type_of(one)]
            if common_of_list(types, self.space.settings) is None:
                shown = ", ".join(dict.fromkeys(map(str, types)))
                raise self.tree.error(f"{shown} have no type in common", node, "CAST them")
        elif isinstance(node, exp.Is | exp.Escape) or type(node) in _LIKES:
            self.type_of(node.this)

    def _check_pair(self, left: exp.Expr, right: exp.Expr) -> None:
        a, b = self.type_of(left), self.type_of(right)
        if ((a.name == "array" or b.name == "array") and a != b) or (
            a != b and common_of_pair(a, b, self.space.settings) is None
        ):
            raise self._usual() or self.tree.error(
                f"{a} cannot be compared with {b}", left,
                "write array_contains(tags, 'a')" if STRING in (a, b) and (a.is_tags or b.is_tags)
                else "CAST one side",
            )  # fmt: skip

    def _element(self, node: exp.Expr) -> Type:
        of = self.type_of(node.this)
        if of.name == "array" and of.element is not None and len(node.expressions) == 1:
            return of.element
        raise self.tree.error(
            f"{of} has no elements to take with [ ]", node,
            "write payload.user for a field" if of.fields else "leave [ ] out",
        )  # fmt: skip

    def _alternatives(
        self,
        node: exp.Expr,
        tests: Sequence[exp.Expr],
        branches: Sequence[exp.Expr],
    ) -> Type:
        for test in tests:
            if self.type_of(test) not in (BOOLEAN, VOID):
                raise self.tree.error("a condition belongs here", test)
        types = [self.type_of(branch) for branch in branches]
        result = common(types, self.space.settings)
        if result is None:
            raise self.tree.error(
                f"branches of types {', '.join(map(str, types))}", node, "CAST them to one type"
            )
        return result

    def _case(self, node: exp.Expr) -> Type:
        branches = [one.args["true"] for one in node.args["ifs"]] + [
            node.args.get("default") or exp.Null()
        ]
        tests = [] if node.this else [one.this for one in node.args["ifs"]]
        for one in node.args["ifs"] if node.this else ():
            self._check_pair(node.this, one.this)
        return self._alternatives(node, tests, branches)

    def _case_text(self, node: exp.Expr) -> str:
        parts = [f"CASE {self.text(node.this)}" if node.this else "CASE"]
        parts += [
            f"WHEN {self.text(one.this)} THEN {self.text(one.args['true'])}"
            for one in node.args["ifs"]
        ]
        if node.args.get("default"):
            parts.append(f"ELSE {self.text(node.args['default'])}")
        return " ".join([*parts, "END"])

    def _function(self, node: exp.Expr) -> Type:
        name = str(node.this).lower()
        self._check_steady(node)
        if name not in FUNCTIONS:
            called = node.find(exp.Lambda)
            if called:
                raise self.outside(called)
            near = get_close_matches(name, list(FUNCTIONS), 1, 0.8)
            raise self.tree.error(
                f"the type of {name}(…) is not known here", node,
                mistakes.unknown_function(name) or (f"did you mean {near[0]}?" if near else "")
                or f"if Spark has it, say its type: CAST({name}(…) AS DOUBLE)",
            )  # fmt: skip
        types: list[Type] = []
        for argument in node.expressions:
            if self.is_list(argument):
                types += self._types_in(argument)
            else:
                types.append(self.type_of(argument))
        return self._checked(node, types, FUNCTIONS[name](types, self.space.settings))

    def _check_steady(self, node: exp.Expr) -> None:
        name = str(node.this).lower()
        if name in CHANGING:
            raise self.tree.error(
                f"{name}() is not a function of the event alone",
                node,
                "write a literal, or add a column to the events",
            )

    def _checked(self, node: exp.Expr, given: Sequence[Type], type_: Type | None) -> Type:
        if type_ is None:
            name = str(node.this).lower() if isinstance(node, exp.Anonymous) else "-"
            types = ", ".join(map(str, given))
            raise self.tree.error(
                f"{name}({types}) is outside the language", node,
                SHAPES.get(name, "CAST its arguments to types that it takes"),
            )  # fmt: skip
        return type_

    def _usual(self) -> PredicateError | None:
        """A mistake that people often make, if the text has one."""
        known = mistakes.usual(self.tree.text)
        return known and PredicateError(known.problem, self.tree.text, known.offset, known.hint)

    def outside(self, node: exp.Expr) -> PredicateError:
        """The error of something that Spark may read and covey does not."""
        inner = node.args.get("query") or node.find(exp.Lambda) or node
        known = self._usual()
        if known:
            return known
        for kinds, words, problem, hint in OUTSIDE:
            if isinstance(inner, kinds):
                return self.tree.error_at(words, problem, hint=hint)
        word = type(inner).__name__
        if word.startswith("Current"):
            return self.tree.error_at(
                r"\b(current|local)", "the current time is not a function of the event alone",
                hint="write a literal, or add a column to the events",
            )  # fmt: skip
        return self.tree.error(
            f"{word} is outside the language", inner, "add a column with its value to the events"
        )


def unwrapped(node: exp.Expr) -> exp.Expr:
    """An expression without the parentheses round it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def chain(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a chain of ANDs or of ORs, from left to right."""
    kind, parts, todo = type(node), [], [node]
    while todo:
        one = unwrapped(todo.pop())
        if type(one) is kind:
            todo += [one.expression, one.this]
        else:
            parts.append(one)
    return parts


def quoted(name: str) -> str:
    """A column's name as Spark reads it back."""
    return name if _NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def bare(text: str) -> str:
    """A text without the parentheses round all of it."""
    plain = literals.without(text)
    depth = 0
    for i, character in enumerate(plain):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if i == len(text) - 1 and text[0] == "(" else text
    return text


def _is_value(identifier: exp.Expr) -> bool:
    """Whether a name stands where a literal usually stands."""
    column = identifier.parent
    around = column.parent if isinstance(column, exp.Column) else None
    if isinstance(around, exp.In):
        return around.this is not column
    if isinstance(around, exp.Anonymous):
        return around.expressions[0] is not column
    if around is None or type(around) not in {**_COMPARISONS, **_LIKES}:
        return False
    return around.args.get("expression") is column


def _nearest(name: str, names: Sequence[str], what: str = "the columns") -> str:
    near = get_close_matches(name.lower(), [n.lower() for n in names], 1, 0.6)
    if near:
        return f"did you mean {next(n for n in names if n.lower() == near[0])}?"
    if not names:
        return ""
    return f"{what} are {', '.join(names[:8])}{'…' if len(names) > 8 else ''}"

"""Expressions over the columns of events: the type of each, and the attribute that it becomes.

A column is itself an attribute if an attribute can have its type. Any other expression that a
condition compares becomes a derived attribute, whose name is its canonical text. Spark computes it
once per event.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from covey.errors import PredicateError
from covey.language.diagnostics import common_mistakes
from covey.language.diagnostics.unsupported_sql import CALL_HINTS
from covey.language.semantics.admission import check_call
from covey.language.semantics.canonical_form import canonical_text
from covey.language.semantics.expression_types import ExpressionTypes, NotAnalysedError, Refusal
from covey.language.semantics.function_types import FUNCTIONS, arithmetic_type, common_branch_type
from covey.language.semantics.name_resolver import NameResolver
from covey.language.semantics.totality import TotalityChecker
from covey.language.syntax.ast_utils import (
    ARITHMETIC,
    COMPARISONS,
    LIKES,
    call_name,
    strip_parentheses,
    unwrap_parentheses,
)
from covey.language.syntax.grammar import PredicateTree
from covey.language.values import literals
from covey.language.values.coercion import (
    common_type_of_list,
    common_type_of_pair,
    integer_literal_as_decimal,
)
from covey.space.space import Attribute, Space
from covey.space.types import BOOLEAN, DOUBLE, FLOAT, STRING, VOID, Type
from covey.sql_names import quote_identifier

__all__ = ["Expressions"]


_MAX_SHOWN_TYPES = 8  # argument types in a message


class Expressions:
    """Types and attributes of the expressions of one tree.

    Args:
        tree: the tree.
        space: the attributes of events.
        types: the types of expressions as Spark's analyzer reports them. By default only the types
            of columns, literals, operators and some functions are known.
    """

    def __init__(
        self, tree: PredicateTree, space: Space, types: ExpressionTypes | None = None
    ) -> None:
        self.names, self._types = NameResolver(tree, space), types
        # Keys are id(node). Each entry holds its node, so that the id cannot be reused.
        self._static: dict[int, tuple[exp.Expr, Type]] = {}
        self._totality = TotalityChecker(self.names, self._static_type)

    def resolve_attribute(self, node: exp.Expr) -> Attribute:
        """Return the attribute of an expression: its column, or a derived attribute.

        Raises:
            NotAnalysedError: the type of the expression must be known first.
            PredicateError: the expression is wrong, or its type is not that of an attribute.
        """
        node = unwrap_parentheses(node)
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            column = self.names.resolve_column(node.parts[0])
            if not column.type.is_attribute:
                raise self.names.tree.error(
                    f"column {column.name!r} is {column.type}, which cannot be compared", node,
                    "give its length in vectors={…}" if column.type.element == FLOAT
                    else "make it array<float>, and give its length in vectors={…}"
                    if column.type.element == DOUBLE
                    else "name a field of it" if column.type.fields
                    else "take a part of it, or CAST it",
                )  # fmt: skip
            return column
        type_ = self.type_of(node)
        if not type_.is_attribute:
            raise self.names.tree.error(
                f"this is {type_}, which cannot be compared", node,
                "name a field of it" if type_.fields else "CAST it, or take a part of it",
            )  # fmt: skip
        return self.derive_attribute(node, type_)

    def derive_attribute(self, node: exp.Expr, type_: Type) -> Attribute:
        """Return the derived attribute of an expression whose type is known.

        Raises:
            PredicateError: the expression has no column.
        """
        text = canonical_text(self.names, node)
        if not any(True for _ in node.find_all(exp.Column)):
            raise self.constant_error(node)
        return self._make_derived(strip_parentheses(text), type_, self._totality.can_raise(node))

    def derive_cast(self, node: exp.Expr, type_: Type) -> Attribute:
        """Return the derived attribute of an expression cast to another type.

        Raises:
            NotAnalysedError: Spark must be queried for the cast first.
            PredicateError: Spark refuses the cast, or the expression has no column.
        """
        name = f"CAST({self.derive_attribute(node, type_).name} AS {str(type_).upper()})"
        self._look_up_type(node, name)
        settings = self.names.space.settings
        can_raise = settings.ansi and type_ != STRING
        return self._make_derived(name, type_, can_raise or self._totality.can_raise(node))

    def _make_derived(self, name: str, type_: Type, can_raise: bool) -> Attribute:
        """Return a derived attribute; if a column has its name, the name is put in parentheses."""
        if any(column.name == name for column in self.names.space.columns):
            name = f"({name})"
        return Attribute(name, type_, is_derived=True, can_raise=can_raise)

    def type_of(self, node: exp.Expr) -> Type:
        """Return the type of an expression: the one that Spark reports, if `types` was given.

        Raises:
            NotAnalysedError: Spark must be queried first.
            PredicateError: Spark refuses the expression.
        """
        node = unwrap_parentheses(node)
        is_plain = isinstance(node, exp.Column | exp.Dot | exp.Literal | exp.Boolean | exp.Null)
        if self._types is None or is_plain or not node.find(exp.Column):
            return self._static_type(node)
        return self._look_up_type(node, strip_parentheses(canonical_text(self.names, node)))

    def is_opaque(self, node: exp.Expr) -> bool:
        """Return whether only Spark can compare an expression: no attribute can have its type.

        If `types` was not given, return False.
        """
        return self._types is not None and not self.type_of(node).is_attribute

    def _look_up_type(self, node: exp.Expr, name: str) -> Type:
        """Return the type that Spark reports for a canonical text, or VOID if `types` is None.

        Raises:
            NotAnalysedError: Spark must be queried first.
            PredicateError: Spark refuses the expression.
        """
        if self._types is None:
            return VOID
        type_ = self._types.find(name)
        if type_ is None:
            raise NotAnalysedError([name])
        if isinstance(type_, Refusal):
            if all(call_name(call) in FUNCTIONS for call in node.find_all(exp.Anonymous)):
                self._static_type(node)  # its error is often easier to understand than Spark's
            raise self.names.tree.error(type_.reason, node)
        return type_

    def _static_type(self, node: exp.Expr) -> Type:
        """Return the type of an expression without Spark, from the cache if possible."""
        if id(node) not in self._static:
            self._static[id(node)] = node, self._read_type(node)
        return self._static[id(node)][1]

    def _read_type(self, node: exp.Expr) -> Type:
        """Return the type of an expression without Spark; raise PredicateError if it is wrong."""
        node = unwrap_parentheses(node)
        if isinstance(node, exp.Column | exp.Dot):
            return self.names.resolve_path(node)[0]
        if isinstance(node, exp.Literal | exp.RawString | exp.Concat):
            return self._read_literal_type(node)
        if isinstance(node, exp.Boolean):
            return BOOLEAN
        if isinstance(node, exp.Null):
            return VOID
        if (raw := self.names.fix_number(node)) is not None:
            return literals.decode_literal(raw).type
        if isinstance(node, exp.Neg):
            argument_types = [self._static_type(node.this)]
            type_ = FUNCTIONS["negative"](argument_types, self.names.space.settings)
            return self._check_call_type(node, argument_types, type_)
        if type(node) in ARITHMETIC:
            return self._read_arithmetic_type(node)
        if type(node) in COMPARISONS or isinstance(
            node, exp.Between | exp.In | exp.Is | exp.And | exp.Or | exp.Not | exp.Escape
        ) or type(node) in LIKES:  # fmt: skip
            self._check_condition(node)
            return BOOLEAN
        if isinstance(node, exp.Cast):
            self.type_or_none(node.this)
            return self.names.resolve_type(node.to)
        if isinstance(node, exp.DPipe):
            return STRING
        if isinstance(node, exp.Bracket):
            return self._read_element_type(node)
        if isinstance(node, exp.If):
            if node.args.get("false") is None:
                raise self.names.tree.error("if() takes three arguments", node, "write if(a, b, c)")
            branches = [node.args["true"], node.args["false"]]
            return self._read_branch_type(node, [node.this], branches)
        if isinstance(node, exp.Case):
            return self._read_case_type(node)
        if isinstance(node, exp.Anonymous):
            return self._read_call_type(node)
        raise self.names.unsupported_error(node)

    def type_or_none(self, node: exp.Expr) -> Type | None:
        """Return the type of an expression, or None for a function whose type is unknown.

        The arguments of such a function are checked too.
        """
        node = unwrap_parentheses(node)
        if isinstance(node, exp.Anonymous) and call_name(node) not in FUNCTIONS:
            check_call(self.names, node)
            for argument in node.expressions:
                self.type_or_none(argument)
            return None
        return self._static_type(node)

    def constant_error(self, node: exp.Expr) -> PredicateError:
        """Return the error of a condition that contains no column.

        If a text of the condition is the name of a column, the error suggests the column.
        """
        for literal in node.find_all(exp.Literal):
            raw = self.names.tree.raws[self.names.tree.slot_of(literal)]
            if raw[0] in "'\"" and raw[1:-1].lower() in self.names.columns:
                return self.names.tree.error(
                    f"{raw} is a text, not the column",
                    literal,
                    f"write {quote_identifier(raw[1:-1])}",
                )
        return self.names.tree.error(
            "this expression does not depend on the event", node, "compare a column with a literal"
        )

    def _read_literal_type(self, node: exp.Expr) -> Type:
        """Return the type of a literal, or of a list whose values have one type."""
        if isinstance(node, exp.RawString | exp.Concat):
            return STRING
        types = set(self.names.fix_literal_types(node))
        if len(types) != 1:
            raise self.names.tree.error("a list is not allowed here", node, "write one value")
        return types.pop()

    def _read_arithmetic_type(self, node: exp.Expr) -> Type:
        """Return the type of an arithmetic expression."""
        op = ARITHMETIC[type(node)]
        left, right = unwrap_parentheses(node.this), unwrap_parentheses(node.expression)
        a, b = self._read_operand_type(left, right), self._read_operand_type(right, left)
        result = arithmetic_type(op, a, b, self.names.space.settings)
        if result is None:
            raise self.names.find_common_mistake() or self.names.tree.error(
                f"{a} {op} {b} is outside the language", node,
                "use date_add" if a.is_datetime or b.is_datetime
                else "write || to join texts" if op == "+" and a == b == STRING
                else "CAST both sides to numbers",
            )  # fmt: skip
        return result

    def _read_operand_type(self, node: exp.Expr, other: exp.Expr) -> Type:
        """Return the type of one side of an arithmetic operator.

        If the other side is a decimal, the type of an integer literal is a decimal whose precision
        is the number of digits of the literal.
        """
        type_ = self._static_type(node)
        raw = self.names.fix_number(node)
        if self.names.is_literal_list(node):  # a list of one literal is a literal in parentheses
            raw, *other_raws = literals.split_list(self.names.fix_literal(node))
            if other_raws:
                raise self.names.tree.error("a list is not allowed here", node, "write one value")
        if raw is not None and type_.is_integral and self._static_type(other).is_decimal:
            return integer_literal_as_decimal(literals.decode_literal(raw))
        return type_

    def _check_condition(self, node: exp.Expr) -> None:
        """Raise PredicateError if operands of a condition inside an expression have wrong types."""
        if isinstance(node, exp.And | exp.Or):
            operands = [node.this, node.expression]
        elif isinstance(node, exp.Not):
            operands = [node.this]
        else:
            operands = []
        for operand in operands:
            if self._static_type(operand) not in (BOOLEAN, VOID):
                raise self.names.tree.error(
                    f"this is {self._static_type(operand)}, not a condition", operand,
                    "compare it with a value, or use IN for several values",
                )  # fmt: skip
        if type(node) in COMPARISONS:
            self._check_pair(node.this, node.expression)
        elif isinstance(node, exp.Between):
            if node.args.get("symmetric"):
                raise self.names.tree.error("Spark has no BETWEEN SYMMETRIC", node, "write BETWEEN")
            self._check_pair(node.this, node.args["low"])
            self._check_pair(node.this, node.args["high"])
        elif isinstance(node, exp.In):
            if not node.expressions:
                raise self.names.unsupported_error(node)
            types = [self._static_type(node.this)]
            for value in node.expressions:
                types += (
                    self.names.fix_literal_types(value)
                    if self.names.is_literal_list(value)
                    else [self._static_type(value)]
                )
            if common_type_of_list(types, self.names.space.settings) is None:
                type_names = ", ".join(dict.fromkeys(map(str, types)))
                problem = f"{type_names} have no type in common"
                raise self.names.tree.error(problem, node, "CAST them")
        elif type(node) in LIKES:
            if not self._static_type(node.this).is_scalar:
                raise self.names.tree.error(
                    f"{LIKES[type(node)]} cannot be applied to {self._static_type(node.this)}",
                    node, "CAST it to STRING",
                )  # fmt: skip
        elif isinstance(node, exp.Is | exp.Escape):
            self._static_type(node.this)

    def _check_pair(self, left: exp.Expr, right: exp.Expr) -> None:
        """Raise PredicateError if two expressions cannot be compared."""
        a, b = self._static_type(left), self._static_type(right)
        if ((a.name == "array" or b.name == "array") and a != b) or (
            a != b and common_type_of_pair(a, b, self.names.space.settings) is None
        ):
            raise self.names.find_common_mistake() or self.names.tree.error(
                f"{a} cannot be compared with {b}", left,
                "write array_contains(tags, 'a')" if STRING in (a, b) and (a.is_tags or b.is_tags)
                else "CAST one side",
            )  # fmt: skip

    def _read_element_type(self, node: exp.Expr) -> Type:
        """Return the type of an element that `[ ]` takes from an array."""
        type_ = self._static_type(node.this)
        if type_.name == "array" and type_.element is not None and len(node.expressions) == 1:
            return type_.element
        if type_.name == "array":
            raise self.names.tree.error("[ ] takes only one index", node, "write one index")
        raise self.names.tree.error(
            f"[ ] takes an element of an array, but this is {type_}", node,
            "write payload.user for a field" if type_.fields else "leave [ ] out",
        )  # fmt: skip

    def _read_branch_type(
        self,
        node: exp.Expr,
        tests: Sequence[exp.Expr],
        branches: Sequence[exp.Expr],
    ) -> Type:
        """Return the common type of branches, whose tests must be conditions."""
        for test in tests:
            if self._static_type(test) not in (BOOLEAN, VOID):
                raise self.names.tree.error(
                    f"this is {self._static_type(test)}, not a condition", test,
                    "compare it with a value",
                )  # fmt: skip
        types = [self._static_type(branch) for branch in branches]
        result = common_branch_type(types, self.names.space.settings)
        if result is None:
            problem = f"the branches have different types: {', '.join(map(str, types))}"
            raise self.names.tree.error(problem, node, "CAST them to one type")
        return result

    def _read_case_type(self, node: exp.Expr) -> Type:
        """Return the type of a CASE expression."""
        whens = node.args["ifs"]
        branches = [when.args["true"] for when in whens]
        branches.append(node.args.get("default") or exp.Null())
        tests = [] if node.this else [when.this for when in whens]
        for when in whens if node.this else ():
            self._check_pair(node.this, when.this)
        return self._read_branch_type(node, tests, branches)

    def _read_call_type(self, node: exp.Expr) -> Type:
        """Return the type of a call; raise PredicateError if the function's type is unknown."""
        name = call_name(node)
        check_call(self.names, node)
        if name not in FUNCTIONS:
            raise self.names.tree.error(
                f"the type of {name}(…) is not known here",
                node,
                common_mistakes.suggest_for_function(name)
                or f"write its type: CAST({name}(…) AS DOUBLE)",
            )
        types: list[Type] = []
        for argument in node.expressions:
            if self.names.is_literal_list(argument):
                types += self.names.fix_literal_types(argument)
            else:
                types.append(self._static_type(argument))
        return self._check_call_type(node, types, FUNCTIONS[name](types, self.names.space.settings))

    def _check_call_type(
        self, node: exp.Expr, argument_types: Sequence[Type], type_: Type | None
    ) -> Type:
        """Return the type of a call; raise PredicateError if the argument types do not fit."""
        if type_ is None:
            name = call_name(node) if isinstance(node, exp.Anonymous) else "-"
            types = ", ".join(
                [
                    *map(str, argument_types[:_MAX_SHOWN_TYPES]),
                    *(["…"] if len(argument_types) > _MAX_SHOWN_TYPES else []),
                ]
            )
            raise self.names.tree.error(
                f"{name}({types}) is outside the language", node,
                CALL_HINTS.get(
                    name, "check the number of its arguments, or CAST them to types that it takes"
                ),
            )  # fmt: skip
        return type_

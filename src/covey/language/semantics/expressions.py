"""Expressions over the columns of events: the type of each, and the attribute that it becomes.

A column is itself an attribute if an attribute can have its type. Any other expression that a
condition compares becomes a derived attribute, whose name is its canonical text. Spark computes it
once per event.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from sqlglot import exp

from covey.errors import PredicateError, UnknownTypeError
from covey.language.diagnostics import common_mistakes
from covey.language.diagnostics.unsupported_sql import CALL_HINTS
from covey.language.late_conditions import MARKER
from covey.language.semantics.admission import check_call
from covey.language.semantics.canonical_form import canonical_text
from covey.language.semantics.expression_types import (
    ExpressionTypes,
    LateOperand,
    MissingExpression,
    NotAnalysedError,
    Refusal,
    StaticOperand,
    must_be_attribute,
    split_expression,
    split_short_list,
)
from covey.language.semantics.function_types import FUNCTIONS, arithmetic_type, common_branch_type
from covey.language.semantics.name_resolver import NameResolver
from covey.language.semantics.row_functions import CLOCK_FUNCTIONS
from covey.language.semantics.totality import TotalityChecker
from covey.language.syntax.ast_utils import (
    ARITHMETIC,
    BITWISE,
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
from covey.language.values.literal_columns import LiteralRef
from covey.language.values.sql_literals import quote_string
from covey.space.space import Attribute, Space
from covey.space.types import BOOLEAN, DOUBLE, FLOAT, STRING, VOID, Type
from covey.sql_names import quote_identifier

__all__ = ["Expressions", "LateTemplate", "NotIndexedError"]


_TYPED_BY_SPARK: tuple[type[exp.Expr], ...] = (
    exp.BitwiseNot, exp.Collate, exp.Dot, exp.Extract, exp.HexString, exp.Interval, exp.Lambda,
    exp.Tuple, exp.Var, *BITWISE,
)  # fmt: skip
"""Nodes whose types only Spark knows."""
_LENGTH_FACTOR = 4  # characters of a template, relative to the limit without literals
_MAX_SHOWN_TYPES = 8  # argument types in a message


class NotIndexedError(Exception):
    """Raised for an expression that is not an attribute; the condition that compares it is late."""


@dataclass(frozen=True, slots=True)
class WrittenExpression:
    """Canonical text of an expression, its template and its literals.

    `refs` contains a reference to each literal, or is None if some literal is not that of a slot.
    """

    text: str
    template: str
    literals: tuple[str, ...]
    refs: tuple[LiteralRef, ...] | None

    @property
    def pieces(self) -> list[str]:
        """The text between the literals."""
        return MARKER.split(self.template)[::2]

    @property
    def letters(self) -> list[str]:
        """The letter of each literal, as in `split_expression`."""
        return MARKER.findall(self.template)

    def to_template(self, fixed: Collection[int]) -> str:
        """Return the template in which the literals at the positions in `fixed` are constant."""
        pieces, letters = self.pieces, self.letters
        marked = [
            pieces[i] + (literal if i in fixed else f"\0{letters[i]}")
            for i, literal in enumerate(self.literals)
        ]
        return "".join([*marked, pieces[-1]])

    def as_missing(self) -> MissingExpression:
        """Return the expression as one whose type is missing."""
        if self.refs is None:
            return MissingExpression((self.text,), ())
        pieces = literals.extract_literals(self.text)[0].split(literals.SLOT_MARK)
        slots = dict.fromkeys(ref.slot for ref in self.refs)
        raw_slots = {ref.slot for ref in self.refs if ref.is_raw}
        return MissingExpression(tuple(pieces), tuple(slots), frozenset(raw_slots))


class LateTemplate(NamedTuple):
    """Template of late conditions, with the letter of each parameter and a reference to it."""

    attribute: Attribute
    parameters: tuple[tuple[str, LiteralRef], ...]


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
        if self._is_column(node):
            column = self.names.resolve_column(node.parts[0])  # type: ignore[attr-defined]
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
        if not self._has_static_path(node):  # fields are few and cheap, so they are attributes
            written = self._write(node)
            self._look_up_type(node, written)
            self._check_is_attribute(written)
        return self.derive_attribute(node, type_)

    def _is_column(self, node: exp.Expr) -> bool:
        """Return whether a node is a column."""
        return isinstance(node, exp.Column) and len(node.parts) == 1

    def _has_static_path(self, node: exp.Expr) -> bool:
        """Return whether a node is a path whose type is known without Spark."""
        return self.names.is_path(node) and self.names.resolve_path(node)[0] is not None

    def derive_attribute(self, node: exp.Expr, type_: Type) -> Attribute:
        """Return the derived attribute of an expression whose type is known.

        Raises:
            PredicateError: the expression has no column, and `types` was not given.
        """
        text = canonical_text(self.names, node)
        if self._types is None and not node.find(exp.Column):
            raise self.constant_error(node)
        attribute = Attribute(
            self._name_derived(strip_parentheses(text)), type_, True, self._totality.can_raise(node)
        )
        if not attribute.can_raise:
            return attribute
        written = self._write_try_form(node)
        return attribute if written is None else replace(attribute, try_form=written.text)

    def derive_cast(self, node: exp.Expr, type_: Type) -> Attribute:
        """Return the derived attribute of an expression cast to another type.

        Raises:
            NotAnalysedError: Spark must be queried for the cast first.
            PredicateError: Spark refuses the cast, or the expression has no column.
        """
        written = self._write(node, f"CAST(\0 AS {str(type_).upper()})")
        self._look_up_type(node, written)
        self._check_is_attribute(written)
        operand, target = self.derive_attribute(node, type_), str(type_).upper()
        name = self._name_derived(f"CAST({operand.name} AS {target})")
        if self.names.space.settings.ansi and type_ != STRING:
            value = operand.try_form if operand.can_raise else operand.name
            try_form = None if value is None else f"TRY_CAST({value} AS {target})"
            return Attribute(name, type_, True, can_raise=True, try_form=try_form)
        return Attribute(name, type_, True, self._totality.can_raise(node))

    def _name_derived(self, text: str) -> str:
        """Return the name of a derived attribute: in parentheses if a column has the same name."""
        is_column = any(column.name == text for column in self.names.space.columns)
        return f"({text})" if is_column else text

    def type_of(self, node: exp.Expr) -> Type:
        """Return the type of an expression: the one that Spark reports, if `types` was given.

        Raises:
            NotAnalysedError: Spark must be queried first.
            PredicateError: Spark refuses the expression.
        """
        node = unwrap_parentheses(node)
        is_plain = isinstance(node, exp.Literal | exp.Boolean | exp.Null)
        if self._types is None or is_plain or self._has_static_path(node):
            return self._static_type(node)
        return self._look_up_type(node, self._write(node))

    @property
    def has_types(self) -> bool:
        """Whether types that Spark's analyzer reports were given."""
        return self._types is not None

    def is_opaque(self, node: exp.Expr) -> bool:
        """Return whether only Spark can compare an expression: no attribute can have its type.

        If `types` was not given, return False.
        """
        return self._types is not None and not self.type_of(node).is_attribute

    def find_late_template(self, node: exp.Expr) -> LateTemplate:
        """Return the template of a late condition, after `type_of` has returned its type.

        Raises:
            PredicateError: Spark would compute the condition differently if it were late.
        """
        written = self._write(node)
        facts = None if self._types is None else self._types.find(written.template)
        if must_be_attribute(written.text) or (facts is not None and facts.is_never_late):
            raise self.names.tree.error(
                "Spark computes a function of this condition only once for all events, and the "
                "subscriptions compare too many different expressions with such functions", node,
                "use fewer different ones, or add a column with the value to the events",
            )  # fmt: skip
        refs, fixed = written.refs, facts.fixed if facts is not None else ()
        if refs is None or facts is None:
            refs, fixed = (), tuple(range(len(written.literals)))
        has_nul = any("\0" in written.literals[i] for i in fixed)
        if len(written.pieces) != len(written.literals) + 1 or has_nul:
            raise self.names.tree.error(
                "the character NUL is not supported in this condition", node, "leave it out"
            )
        name = written.to_template(fixed)
        parameters = [
            (letter, refs[i]) for i, letter in enumerate(written.letters) if i not in fixed
        ]
        if len(name) > (max_length := _LENGTH_FACTOR * self.names.space.limits.max_template):
            raise self.names.tree.error(
                f"a condition of {len(name):,} characters cannot be evaluated for candidates: at "
                f"most {max_length:,} are allowed", node,
                "write shorter literals, or raise the limit max_template",
            )  # fmt: skip
        fixed_slots = set(self.names.fixed_slots)
        can_raise = self._totality.can_raise(node)
        try_form = self._write_try_form(node) if can_raise else None
        self.names.fixed_slots = fixed_slots
        has_pattern = any(node.find_all(*LIKES)) and bool(parameters)
        attribute = Attribute(name, BOOLEAN, True, can_raise or has_pattern, is_late=True)
        if try_form is not None and try_form.literals == written.literals and not has_pattern:
            attribute = replace(attribute, try_form=try_form.to_template(fixed))
        return LateTemplate(attribute, tuple(parameters))

    def _check_is_attribute(self, written: WrittenExpression) -> None:
        """Raise NotIndexedError unless an expression is a derived attribute.

        The expression must have a known type. If only some expressions with its template are
        attributes, its literals become cache keys.
        """
        if self._types is None:
            return
        facts = self._types.find(written.template)
        if facts is None and isinstance(self._types.otherwise, StaticOperand):
            return
        assert facts is not None
        for i, ref in enumerate(written.refs or ()):
            if ref.is_raw:
                self.names.fixed_slots.add(ref.slot)
            chosen = self.names.chosen_literals.get(ref.slot, frozenset())
            chosen |= {literals[i] for literals in facts.attributes}
            self.names.chosen_literals[ref.slot] = chosen
        if written.literals not in facts.attributes:
            raise NotIndexedError

    def _write(self, node: exp.Expr, frame: str = "\0") -> WrittenExpression:
        """Return the canonical text of an expression, without fixing its literals.

        Args:
            node: the expression.
            frame: text around the canonical text, which stands in place of NUL.
        """
        reader = self.names.without_fixing()
        text = frame.replace("\0", strip_parentheses(canonical_text(reader, node)))
        template, literals = split_expression(text)
        refs: list[LiteralRef] = []
        raws: list[str] = []
        for slot in reader.read_slots:
            raw = self.names.tree.raws[slot]
            if slot in self.names.raw_slots:
                refs.append(LiteralRef(slot, is_raw=True))
                raws.append(quote_string(raw[1:-1]))
                continue
            values = split_short_list(raw)
            refs += [LiteralRef(slot, i) for i in range(len(values or ()))] or [LiteralRef(slot)]
            raws += values or [raw]
        is_in_order = all(a < b for a, b in pairwise(reader.read_slots))
        if tuple(raws) != literals or not is_in_order:
            self.names.fixed_slots |= reader.fixed_slots
            return WrittenExpression(text, template, literals, None)
        self.names.typed_slots.update(reader.read_slots)
        return WrittenExpression(text, template, literals, tuple(refs))

    def _write_try_form(self, node: exp.Expr) -> WrittenExpression | None:
        """Return the try form of an expression that can raise, or None if none is known."""
        form = self._totality.find_try_form(node)
        return None if form is None else self._write(form)

    def _look_up_type(self, node: exp.Expr, written: WrittenExpression) -> Type:
        """Return the type that Spark reports for an expression, or VOID if `types` is None.

        Raises:
            NotAnalysedError: Spark must be queried first.
            PredicateError: Spark refuses the expression.
        """
        if self._types is None:
            return VOID
        facts = self._types.find(written.template)
        result: Type | Refusal | LateOperand | StaticOperand | None = None
        if facts is not None:
            if written.refs is not None:
                self.names.fixed_slots |= {written.refs[i].slot for i in facts.fixed}
            result = facts.find_result(written.literals)
        if result is None:
            result = self._types.otherwise
        if result is None:
            raise NotAnalysedError([written.as_missing()])
        if isinstance(result, LateOperand):
            raise NotIndexedError
        if isinstance(result, StaticOperand):
            return self._static_type(node)
        if isinstance(result, Refusal):
            if all(call_name(call) in FUNCTIONS for call in node.find_all(exp.Anonymous)):
                with suppress(UnknownTypeError):
                    self._static_type(node)  # its error is often clearer than Spark's
            raise self.names.tree.error(result.reason, node)
        return result

    def _static_type(self, node: exp.Expr) -> Type:
        """Return the type of an expression without Spark, from the cache if possible."""
        if id(node) not in self._static:
            self._static[id(node)] = node, self._read_type(node)
        return self._static[id(node)][1]

    def _read_type(self, node: exp.Expr) -> Type:
        """Return the type of an expression without Spark; raise PredicateError if it is wrong."""
        node = unwrap_parentheses(node)
        if self.names.is_path(node):
            return self.names.resolve_path(node)[0] or self._raise_unknown_type(node)
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
        if isinstance(node, exp.HexString):
            self.names.fix_literal(node)  # sqlglot reads 0x1F as well, which Spark does not
        is_call_of_method = isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func)
        if isinstance(node, _TYPED_BY_SPARK) and not is_call_of_method:
            return self._raise_unknown_type(node)
        raise self.names.unsupported_error(node)

    def _raise_unknown_type(self, node: exp.Expr) -> Type:
        """Raise UnknownTypeError: only Spark knows the type of an expression."""
        error = self.names.find_common_mistake() or self.names.tree.error(
            "only Spark knows the type of this expression", node, "use a Matcher of covey.spark"
        )
        raise UnknownTypeError(error.problem, error.text, error.offset, error.hint)

    def type_or_none(self, node: exp.Expr) -> Type | None:
        """Return the type of an expression, or None for a function whose type is unknown.

        The arguments of such a function are checked too.
        """
        node = unwrap_parentheses(node)
        if isinstance(node, exp.Anonymous) and call_name(node) not in FUNCTIONS:
            check_call(self.names, node)
            for argument in node.expressions:
                if not isinstance(argument, exp.Lambda):
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

        If the other side is a decimal, an integer literal has the type that
        `integer_literal_as_decimal` returns.
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
        if type_.name == "array" and type_.element is not None:
            return type_.element
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
        if name in CLOCK_FUNCTIONS or node.find(exp.Lambda):
            return self._raise_unknown_type(node)
        if name not in FUNCTIONS:
            error = self.names.tree.error(
                f"the type of {name}(…) is not known here",
                node,
                common_mistakes.suggest_for_function(name)
                or f"write its type: CAST({name}(…) AS DOUBLE)",
            )
            raise UnknownTypeError(error.problem, error.text, error.offset, error.hint)
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

"""Compiler of conditions without AND, OR and NOT: comparisons, lists and patterns as atoms.

Any other expression with a boolean value becomes a derived attribute that Spark computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from covey.errors import PredicateError
from covey.language.compile.atoms import (
    Atom,
    Comparison,
    Conjunction,
    Dnf,
    LateTruth,
    Membership,
    Nullness,
    Prefix,
    Truth,
)
from covey.language.compile.cache_keys import (
    list_key,
    pattern_key,
    pattern_kind,
    plain_text_key,
    types_key,
)
from covey.language.compile.distance_conditions import distance_condition, is_distance
from covey.language.compile.operands import Operands
from covey.language.compile.tag_conditions import tag_condition
from covey.language.semantics.admission import check_admitted
from covey.language.semantics.expressions import NotIndexedError
from covey.language.syntax.ast_utils import COMPARISONS, call_name, unwrap_parentheses
from covey.language.values import casts, literals
from covey.language.values.coercion import (
    common_type_of_list,
    common_type_with_literal,
    is_lossy_cast,
    needs_cast,
)
from covey.language.values.literal_columns import WHOLE_LIST, LiteralRef
from covey.language.values.literals import TypedLiteral
from covey.space.events import ValueState
from covey.space.guard import build_computability_check
from covey.space.space import LATE, Attribute
from covey.space.types import BOOLEAN, STRING, TIMESTAMP, Type

__all__ = ["Conditions", "DnfProduct", "TooManyAlternativesError"]


class TooManyAlternativesError(PredicateError):
    """Raised if a condition has more alternatives than it may have regions."""


@dataclass(frozen=True, slots=True)
class DnfProduct:
    """The intersection of several unions, which is not yet multiplied out to one union.

    The caller multiplies out the intersection and limits the number of alternatives.
    """

    sides: list[Dnf]


_OPS: dict[type[exp.Expr], str] = {
    exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge", exp.EQ: "=", exp.NullSafeEQ: "<=>",
}  # fmt: skip
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NOT_NULL = ValueState.VALUE | ValueState.MALFORMED | ValueState.NULL_ELEMENTS


class Conditions:
    """Compiler of the conditions of one tree.

    Args:
        operands: the operands of the tree.
        max_regions: the largest number of alternatives, each of which becomes a region.
    """

    def __init__(self, operands: Operands, max_regions: int) -> None:
        self.operands, self.max_regions = operands, max_regions

    def check_alternatives(self, count: int, node: exp.Expr) -> None:
        """Raise TooManyAlternativesError if there are more than `max_regions` alternatives."""
        if count > self.max_regions:
            error = self.operands.tree.error(
                f"this has more than {self.max_regions} alternatives after expansion", node,
                "use IN for alternatives of one column, or split the predicate into several "
                "subscriptions",
            )  # fmt: skip
            raise TooManyAlternativesError(error.problem, error.text, error.offset, error.hint)

    def non_raising(self, node: exp.Expr) -> Dnf | None:
        """Return the events on which Spark can compute a condition without raising an error.

        The result is a union of conjunctions, or None for all events.
        """
        is_plain = type(node) in COMPARISONS and not isinstance(node, exp.NullSafeEQ)
        if is_plain and any(isinstance(side, exp.Null) for side in node.iter_expressions()):
            return None  # Spark's optimizer replaces it by null and computes nothing
        atoms: list[Atom] = [*self._vector_length_atoms(node), *self._computability_atoms(node)]
        return [tuple(atoms)] if atoms else None

    def _vector_length_atoms(self, node: exp.Expr) -> list[Nullness]:
        """Return atoms that exclude vectors of the wrong length in the distances of a condition."""
        attributes: dict[str, Attribute] = {}
        for call in node.find_all(exp.Anonymous):
            if not is_distance(call) or call.find_ancestor(exp.Case, exp.If, exp.Lambda):
                continue  # a distance that is not computed cannot raise
            for argument in filter(lambda side: side.find(exp.Column), call.expressions):
                if not self.operands.expressions.type_of(argument).is_vector:
                    continue
                with suppress(NotIndexedError):  # then the whole condition is late
                    attribute = self.operands.expressions.resolve_attribute(argument)
                    attributes[attribute.name] = attribute
        non_raising = ValueState.NULL | ValueState.VALUE | ValueState.NULL_ELEMENTS
        return [Nullness(attribute, non_raising) for attribute in attributes.values()]

    def _computability_atoms(self, node: exp.Expr) -> Sequence[Atom]:
        """Return atoms that exclude events on which a derived attribute raises an exception."""
        atoms: dict[str, Truth] = {}
        for outcome in (True, False):
            try:
                union = self._convert_node(node, outcome)
            except NotIndexedError:
                return self._late_computability_atoms(node)
            except PredicateError as error:
                return self.find_opaque_checks(node, error)
            sides = union.sides if isinstance(union, DnfProduct) else [union]
            for atom in (atom for side in sides for conjunction in side for atom in conjunction):
                if atom.attribute.can_raise:
                    atoms[atom.attribute.name] = Truth(atom.attribute.flag, 1)
        return list(atoms.values())

    def find_opaque_checks(self, node: exp.Expr, error: PredicateError) -> Sequence[Atom]:
        """Return atoms that exclude events on which a condition raises an exception.

        The arguments and errors are those of `convert_opaque`.
        """
        if not self.operands.expressions.has_types:
            raise error
        try:
            return self._late_computability_atoms(node)
        except PredicateError:
            raise error from None

    def _late_computability_atoms(self, node: exp.Expr) -> Sequence[Atom]:
        """Return the atoms of a condition that is late, or that is a derived attribute itself."""
        try:
            union = self._convert_boolean(node, True)
        except NotIndexedError:
            template, parameters = self.operands.expressions.find_late_template(node)
            if not template.can_raise:
                return []
            check = build_computability_check(template.name)
            template = replace(template, name=check, can_raise=False, try_form=None)
            return [LateTruth(self.operands.space[LATE], template, parameters)]
        (truth,) = union[0]
        return [Truth(truth.attribute.flag, 1)] if truth.attribute.can_raise else []

    def _convert_late(self, node: exp.Expr, outcome: bool) -> Dnf:
        """Return the events on which a condition on an expression has the given outcome.

        The expression is not an attribute. If the condition is not one either, it is late.
        """
        try:
            return self._convert_boolean(node, outcome)
        except NotIndexedError:
            template, parameters = self.operands.expressions.find_late_template(node)
        if not outcome:
            template = template.negate()
        return [(LateTruth(self.operands.space[LATE], template, parameters),)]

    def to_dnf(self, node: exp.Expr, outcome: bool) -> Dnf | DnfProduct:
        """Return the events on which a condition has the given outcome, true or false."""
        try:
            union = self._convert_node(node, outcome)
        except NotIndexedError:
            return self._convert_late(node, outcome)
        except PredicateError as error:
            # An index cannot use the condition, or it is wrong: that is for Spark to say.
            return self.convert_opaque(node, outcome, error)
        if isinstance(union, DnfProduct):
            return union
        return [conjunction + self._flag_atoms(conjunction) for conjunction in union]

    def convert_opaque(self, node: exp.Expr, outcome: bool, error: PredicateError) -> Dnf:
        """Return the events on which a condition that covey cannot compile has the given outcome.

        Spark computes the condition as a whole.

        Raises:
            PredicateError: it is `error`, if Spark cannot be queried or refuses the condition.
        """
        if not self.operands.expressions.has_types:
            raise error
        try:
            check_admitted(self.operands.expressions.names)
            return self._convert_late(node, outcome)
        except PredicateError:
            raise error from None

    def _flag_atoms(self, conjunction: Conjunction) -> Conjunction:
        """Return atoms that exclude events on which an attribute is null because it would raise.

        They are needed only for attributes that the conjunction may admit as null.
        """
        attributes = [
            a.attribute for a in conjunction if a.attribute.can_raise and _may_admit_null(a)
        ]
        return tuple(Truth(attribute.flag, 1) for attribute in attributes)

    def _convert_node(self, node: exp.Expr, outcome: bool) -> Dnf | DnfProduct:
        """Return the events on which a condition has the given outcome, by the type of its node."""
        if type(node) in _OPS:
            return self._convert_comparison(node, outcome)
        if isinstance(node, exp.In):
            return self._convert_in(node, outcome)
        if isinstance(node, exp.Is):
            return self._convert_is(node, outcome)
        if isinstance(node, exp.Like):
            return self._convert_like(node, node.this, node.expression, outcome)
        if isinstance(node, exp.Anonymous):
            return self._convert_call(node, outcome)
        return self._convert_boolean(node, outcome)

    def _convert_comparison(self, node: exp.Expr, outcome: bool) -> Dnf:
        """Return the events on which a comparison has the given outcome."""
        left, right = unwrap_parentheses(node.this), unwrap_parentheses(node.expression)
        if isinstance(left, exp.Tuple) or isinstance(right, exp.Tuple):
            return self._convert_boolean(node, outcome)
        op = _OPS[type(node)]
        literal, other = self.operands.read_literal(right), self.operands.read_literal(left)
        if literal is None and other is not None:
            left, right, op = right, left, _MIRRORED.get(op, op)
            literal, other = other, literal
        if literal is None:
            return self._convert_boolean(node, outcome)
        if other is not None:
            folded = self._fold_comparison(other, literal, op)
            if folded is None:
                return self._convert_boolean(node, outcome)
            return [()] if folded == outcome else []
        ref, typed = literal
        if is_distance(left):
            balls = distance_condition(self.operands, left, op, ref, typed, outcome)
            if balls is not None:
                return balls
        if self.operands.expressions.is_opaque(left):
            return self._convert_boolean(node, outcome)
        attribute = self.operands.comparison_attribute(left, ref, typed)
        if typed.type == BOOLEAN or typed.value is None:
            return self._convert_constant(left, attribute, op, typed, outcome)
        if op in ("=", "<=>"):
            lossy = is_lossy_cast(
                attribute.type,
                common_type_with_literal(attribute.type, typed, self.operands.space.settings),
            )
            if lossy and not outcome:
                unequal: Dnf = [(Comparison(attribute, side, ref),) for side in ("lt", "gt")]
                return unequal + ([(Nullness(attribute, ValueState.NULL),)] if op == "<=>" else [])
            return [(Membership(attribute, (ref,), outcome, op == "<=>", is_lossy=lossy),)]
        if attribute.type == BOOLEAN and typed.type.is_numeric:
            raise self.operands.tree.error(
                f"boolean cannot be compared with {typed.type}", node, "write = true"
            )
        compare = Comparison(attribute, op, ref)
        return [(compare if outcome else compare.negate(),)]

    def _fold_comparison(
        self, a: tuple[LiteralRef, TypedLiteral], b: tuple[LiteralRef, TypedLiteral], op: str
    ) -> bool | None:
        """Return the outcome of a comparison of two literals, such as `1 = 1`.

        Return None if the types of the literals differ or the literals are null. Otherwise, the
        literals become part of the compiled template.
        """
        if a[1].type != b[1].type or a[1].value is None:
            return None
        self.operands.expressions.names.fixed_slots |= {
            ref.slot for ref, _ in (a, b) if ref.slot >= 0
        }
        return _HOLDS[op](a[1].value, b[1].value)

    def _convert_constant(
        self, node: exp.Expr, attribute: Attribute, op: str, literal: TypedLiteral, outcome: bool
    ) -> Dnf:
        """Return the events on which a comparison with a boolean or NULL has the given outcome."""
        if literal.value is None:
            if op != "<=>":
                return []
            return [(Nullness(attribute, ValueState.NULL if outcome else _NOT_NULL),)]
        if attribute.type != BOOLEAN:
            raise self.operands.tree.error(
                f"{attribute.name} is {attribute.type} and cannot be compared with boolean",
                node,
                "compare it with a literal of its type",
            )
        values = [v for v in (0, 1) if _HOLDS[op](v, int(literal.value)) == outcome]
        union: Dnf = [(Truth(attribute, v),) for v in values]
        if op == "<=>" and not outcome:
            union.append((Nullness(attribute, ValueState.NULL),))
        return union

    def _convert_in(self, node: exp.Expr, outcome: bool) -> Dnf | DnfProduct:
        """Return the events on which an IN condition has the given outcome."""
        refs: list[LiteralRef] = []
        types: list[Type] = []
        has_null = False
        if not node.expressions or node.args.get("query"):
            raise self.operands.expressions.names.unsupported_error(node)
        if self.operands.expressions.is_opaque(node.this):
            return self._convert_boolean(node, outcome)
        for value in node.expressions:
            slot = self.operands.tree.slot_of(value) if isinstance(value, exp.Literal) else -1
            if slot >= 0 and self.operands.tree.raws[slot][0] == "(":
                refs.append(LiteralRef(slot, WHOLE_LIST))
                types += self.operands.list_types(value)
                self.operands.cache_keys[slot] = list_key
                continue
            literal = self.operands.read_literal(value)
            if literal is None or literal[1].type == BOOLEAN:
                return self._convert_boolean(node, outcome)
            if literal[1].value is None:
                has_null = True
            else:
                refs.append(literal[0])
                types.append(literal[1].type)
                self.operands.cache_keys[literal[0].slot] = list_key
        if not refs:
            self.operands.expressions.resolve_attribute(node.this)
            return []
        attribute = self.operands.expressions.resolve_attribute(node.this)
        common = common_type_of_list([attribute.type, *types], self.operands.space.settings)
        if common is None:
            raise self.operands.tree.error(
                f"{attribute.type} cannot be compared with a list of "
                f"{', '.join(dict.fromkeys(map(str, types)))}",
                node,
                "write array_contains(tags, 'a')" if attribute.type.is_tags
                else casts.literal_hint(attribute.type),
            )  # fmt: skip
        if len(refs) == 1 and refs[0].cast_type == TIMESTAMP and not has_null:
            return self.to_dnf(exp.EQ(this=node.this, expression=node.expressions[0]), outcome)
        if needs_cast(attribute.type, common):
            attribute = self.operands.expressions.derive_cast(node.this, common)
        if is_lossy_cast(attribute.type, common):
            return self._convert_lossy_list(node, attribute, refs, common, has_null, outcome)
        if self._compares_pairwise(attribute.type, refs):
            common = None
        else:
            self.operands.cache_keys |= dict.fromkeys((ref.slot for ref in refs), types_key)
        return [(Membership(attribute, tuple(refs), outcome, False, has_null, common),)]

    def _convert_lossy_list(
        self,
        node: exp.Expr,
        attribute: Attribute,
        refs: Sequence[LiteralRef],
        common: Type,
        has_null: bool,
        outcome: bool,
    ) -> Dnf | DnfProduct:
        """Return the events on which an IN condition with a lossy cast has the given outcome.

        After the cast, many keys equal one value, so each value becomes a condition of its own.
        """
        self.operands.expressions.names.fixed_slots |= {ref.slot for ref in refs}
        lengths = [
            len(literals.split_list(self.operands.tree.raws[ref.slot])) if ref.is_list else 1
            for ref in refs
        ]
        self.check_alternatives(sum(lengths), node)
        value_refs = [
            replace(ref, element=i) if ref.is_list else ref
            for ref, length in zip(refs, lengths, strict=True)
            for i in range(length)
        ]
        if outcome:
            equal: Dnf = [
                (Membership(attribute, (ref,), common_type=common),) for ref in value_refs
            ]
            return equal
        if has_null:
            return []
        unequal: list[Dnf] = [
            [(Comparison(attribute, op, ref, common),) for op in ("lt", "gt")] for ref in value_refs
        ]
        return DnfProduct(unequal)

    def _compares_pairwise(self, attribute: Type, refs: Sequence[LiteralRef]) -> bool:
        """Return whether IN is certainly equivalent to comparing the attribute with each value.

        If the result is False, it may still be equivalent. The values are then compared in the
        common type of the attribute and the list.
        """
        raws = [
            raw for ref in refs for raw in literals.split_list(self.operands.tree.raws[ref.slot])
        ]
        kinds = set(literals.literal_kinds([raw.lstrip("+- ") for raw in raws]))
        if len(kinds) != 1 or max(map(len, raws)) > 18 or any(ref.cast_type for ref in refs):
            return False
        if kinds == {"s"}:
            return attribute == STRING or self.operands.space.settings.ansi
        return kinds <= set("ide") and attribute.is_numeric and attribute.precision <= 18

    def _convert_is(self, node: exp.Expr, outcome: bool) -> Dnf:
        """Return the events on which IS NULL has the given outcome."""
        if (
            isinstance(node.expression, exp.Null)
            and not self.operands.expressions.type_of(node.this).is_attribute
        ):
            return self._convert_boolean(node, outcome)
        if isinstance(node.expression, exp.Null):
            return self._convert_nullness(node, node.this, outcome, is_null=outcome)
        raise self.operands.expressions.names.unsupported_error(node)

    def _convert_nullness(
        self, node: exp.Expr, subject: exp.Expr, outcome: bool, is_null: bool
    ) -> Dnf:
        """Return the events on which an expression is null, or on which it is not null.

        `is_null` says which of the two. If computing the expression can raise an error, the whole
        condition becomes a derived boolean: Spark does not compute an expression that cannot be
        null, so the condition might not raise.
        """
        if self.operands.expressions.resolve_attribute(subject).can_raise:
            return self._convert_boolean(node, outcome)
        attribute = self.operands.expressions.resolve_attribute(subject)
        return [(Nullness(attribute, ValueState.NULL if is_null else _NOT_NULL),)]

    def _convert_like(
        self, node: exp.Expr, subject: exp.Expr, like: exp.Expr, outcome: bool
    ) -> Dnf:
        """Return the events on which a LIKE condition has the given outcome."""
        literal = self.operands.read_literal(unwrap_parentheses(like))
        if literal is None or literal[1].type != STRING or literal[1].value is None:
            return self._convert_boolean(node, outcome)
        ref, typed = literal
        self.operands.cache_keys[ref.slot] = pattern_key
        if (
            self.operands.expressions.type_of(subject) != STRING
            or pattern_kind(typed.value) == "other"
        ):
            return self._convert_boolean(node, outcome)
        attribute = self.operands.expressions.resolve_attribute(subject)
        if pattern_kind(typed.value) == "exact":
            return [(Membership(attribute, (ref,), outcome),)]
        return _prefix_condition(attribute, ref, outcome)

    def _convert_call(self, node: exp.Expr, outcome: bool) -> Dnf:
        """Return the events on which the call of a boolean function has the given outcome."""
        name = call_name(node)
        arguments = node.expressions
        if name in ("array_contains", "arrays_overlap") and len(arguments) == 2:
            tagged = tag_condition(self.operands, name, arguments, outcome)
            if tagged is not None:
                return tagged
        if (
            name in ("isnull", "isnotnull")
            and len(arguments) == 1
            and not self.operands.expressions.is_opaque(arguments[0])
        ):
            is_null = (name == "isnull") == outcome
            return self._convert_nullness(node, arguments[0], outcome, is_null)
        if name == "startswith" and len(arguments) == 2:
            literal = self.operands.read_literal(arguments[1])
            is_plain = (
                literal is not None
                and literal[1].type == STRING
                and literal[1].value is not None
                and not set(literal[1].value) & set("\\%")
            )
            if (
                literal is not None
                and is_plain
                and self.operands.expressions.type_of(arguments[0]) == STRING
            ):
                self.operands.cache_keys[literal[0].slot] = plain_text_key
                return _prefix_condition(
                    self.operands.expressions.resolve_attribute(arguments[0]), literal[0], outcome
                )
            if literal is not None and literal[0].slot >= 0:
                self.operands.cache_keys[literal[0].slot] = plain_text_key
        return self._convert_boolean(node, outcome)

    def _convert_boolean(self, node: exp.Expr, outcome: bool) -> Dnf:
        """Return the events on which a condition has the given outcome.

        The condition becomes a derived boolean attribute, which Spark computes.
        """
        type_ = self.operands.expressions.type_of(node)
        if type_ != BOOLEAN:
            is_literal = isinstance(unwrap_parentheses(node), exp.Literal)
            raise self.operands.tree.error(
                f"this is {type_}, not a condition", node,
                "repeat the column before it, or use IN for several values" if is_literal
                else "compare it with a value",
            )  # fmt: skip
        attribute = self.operands.expressions.resolve_attribute(node)
        return [(Truth(attribute, int(outcome)),)]


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b, "<=>": lambda a, b: a == b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def _may_admit_null(atom: Atom) -> bool:
    """Return whether an atom may hold for an attribute that is null."""
    if isinstance(atom, Nullness):
        return bool(atom.states & ValueState.NULL)
    return isinstance(atom, Membership) and atom.null_safe


def _prefix_condition(attribute: Attribute, ref: LiteralRef, outcome: bool) -> Dnf:
    """Return the condition that a text starts with a literal; if not `outcome`, its negation."""
    if outcome:
        return [(Prefix(attribute, ref),)]
    return [(Prefix(attribute, ref, "below"),), (Prefix(attribute, ref, "above"),)]

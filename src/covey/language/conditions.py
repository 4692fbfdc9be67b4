"""Conditions without AND, OR and NOT: comparisons, lists and patterns as atoms.

Whatever is none of these but has a boolean value is a derived attribute that Spark computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from covey.language import casts, literals
from covey.language.atoms import (
    Atom,
    Compare,
    Conjunction,
    Member,
    Nullness,
    Prefix,
    Truth,
    Union,
)  # fmt: skip
from covey.language.coerce import cast_needed, common_of_list, common_with, is_lossy
from covey.language.literals import Typed
from covey.language.nearness import is_distance, nearness
from covey.language.nodes import COMPARISONS, call_name, unwrapped
from covey.language.operands import Operands
from covey.language.shapes import list_shape, pattern, pattern_shape, plain_shape, types_shape
from covey.language.slots import WHOLE, Ref
from covey.language.tagging import tagging
from covey.space.events import State
from covey.space.space import Attribute
from covey.space.types import BOOLEAN, STRING, TIMESTAMP, Type

__all__ = ["Conditions", "Product"]


@dataclass(frozen=True, slots=True)
class Product:
    """Unions that must all hold: whoever multiplies them out bounds their number."""

    sides: list[Union]


_OPS: dict[type[exp.Expr], str] = {
    exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge", exp.EQ: "=", exp.NullSafeEQ: "<=>",
}  # fmt: skip
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NOT_NULL = State.VALUE | State.MALFORMED | State.HOLED


class Conditions:
    """The conditions of one tree, which may have so many alternatives."""

    def __init__(self, operands: Operands, max_regions: int) -> None:
        self.operands, self.max_regions = operands, max_regions

    def check_alternatives(self, count: int, node: exp.Expr) -> None:
        """Raise PredicateError if a condition has more alternatives than it may have."""
        if count > self.max_regions:
            raise self.operands.tree.error(
                f"more than {self.max_regions} alternatives once it is multiplied out", node,
                "use IN for alternatives of one column, or split it into several subscriptions",
            )  # fmt: skip

    def quiet(self, node: exp.Expr) -> Union | None:
        """For which events computing a condition does not raise; `None` for all."""
        is_plain = type(node) in COMPARISONS and not isinstance(node, exp.NullSafeEQ)
        if is_plain and any(isinstance(side, exp.Null) for side in node.iter_expressions()):
            return None  # Spark's optimizer makes null of it and computes nothing
        atoms: list[Atom] = [*self._measurable(node), *self._computable(node)]
        return [tuple(atoms)] if atoms else None

    def _measurable(self, node: exp.Expr) -> list[Nullness]:
        """That vectors have the length of those that they are measured with."""
        attributes: dict[str, Attribute] = {}
        for call in node.find_all(exp.Anonymous):
            if not is_distance(call) or call.find_ancestor(exp.Case, exp.If):
                continue  # a branch that is not taken measures nothing either
            for argument in filter(lambda one: one.find(exp.Column), call.expressions):
                if self.operands.expressions.type_of(argument).is_vector:
                    attribute = self.operands.attribute(argument)
                    attributes[attribute.name] = attribute
        quiet = State.NULL | State.VALUE | State.HOLED
        return [Nullness(attribute, quiet) for attribute in attributes.values()]

    def _computable(self, node: exp.Expr) -> list[Truth]:
        """That what is derived in a condition can be computed."""
        found: dict[str, Truth] = {}
        for outcome in (True, False):
            union = self._when(node, outcome)
            sides = union.sides if isinstance(union, Product) else [union]
            for atom in (atom for side in sides for conjunction in side for atom in conjunction):
                if atom.attribute.can_raise:
                    found[atom.attribute.name] = Truth(self.operands.flag(atom.attribute), 1)
        return list(found.values())

    def when(self, node: exp.Expr, outcome: bool) -> Union | Product:
        """For which events a condition has an outcome."""
        union = self._when(node, outcome)
        if isinstance(union, Product):
            return union
        return [conjunction + self._flags(conjunction) for conjunction in union]

    def _flags(self, conjunction: Conjunction) -> Conjunction:
        """That a null which is wanted is the value of an expression, and not what raised."""
        attributes = [a.attribute for a in conjunction if a.attribute.can_raise and _wants_null(a)]
        return tuple(Truth(self.operands.flag(attribute), 1) for attribute in attributes)

    def _when(self, node: exp.Expr, outcome: bool) -> Union | Product:
        if type(node) in _OPS:
            return self._comparison(node, outcome)
        if isinstance(node, exp.In):
            return self._in(node, outcome)
        if isinstance(node, exp.Is):
            return self._is(node, outcome)
        if isinstance(node, exp.Like):
            return self._like(node, node.this, node.expression, outcome)
        if isinstance(node, exp.Anonymous):
            return self._call(node, outcome)
        return self._boolean(node, outcome)

    def _comparison(self, node: exp.Expr, outcome: bool) -> Union:
        left, right = unwrapped(node.this), unwrapped(node.expression)
        op = _OPS[type(node)]
        literal, other = self.operands.literal(right), self.operands.literal(left)
        if literal is None and other is not None:
            left, right, op = right, left, _MIRRORED.get(op, op)
            literal, other = other, literal
        if literal is None:
            return self._boolean(node, outcome)
        if other is not None:
            folded = self._folded(other, literal, op)
            if folded is None:
                return self._boolean(node, outcome)
            return [()] if folded == outcome else []
        ref, typed = literal
        if is_distance(left):
            near = nearness(self.operands, left, op, ref, typed, outcome)
            if near is not None:
                return near
        if self.operands.expressions.is_opaque(left):
            return self._boolean(node, outcome)
        attribute = self.operands.comparable(left, ref, typed)
        if typed.type == BOOLEAN or typed.value is None:
            return self._constant(left, attribute, op, typed, outcome)
        if op in ("=", "<=>"):
            lossy = is_lossy(
                attribute.type, common_with(attribute.type, typed, self.operands.space.settings)
            )
            if lossy and not outcome:
                apart: Union = [(Compare(attribute, one, ref),) for one in ("lt", "gt")]
                return apart + ([(Nullness(attribute, State.NULL),)] if op == "<=>" else [])
            return [(Member(attribute, (ref,), outcome, op == "<=>", is_lossy=lossy),)]
        if attribute.type == BOOLEAN and typed.type.is_numeric:
            raise self.operands.tree.error(
                f"boolean cannot be compared with {typed.type}", node, "write = true"
            )
        compare = Compare(attribute, op, ref)
        return [(compare if outcome else compare.opposite(),)]

    def _folded(self, a: tuple[Ref, Typed], b: tuple[Ref, Typed], op: str) -> bool | None:
        """What a comparison of two literals of one type says, such as `1 = 1`."""
        if a[1].type != b[1].type or a[1].value is None:
            return None
        self.operands.expressions.names.fixed |= {ref.slot for ref, _ in (a, b) if ref.slot >= 0}
        return _HOLDS[op](a[1].value, b[1].value)

    def _constant(
        self, node: exp.Expr, attribute: Attribute, op: str, typed: Typed, outcome: bool
    ) -> Union:
        """A comparison with `true`, `false` or NULL: no slot to fill in."""
        if typed.value is None:
            if op != "<=>":
                return []
            return [(Nullness(attribute, State.NULL if outcome else _NOT_NULL),)]
        if attribute.type != BOOLEAN:
            raise self.operands.tree.error(
                f"{attribute.name} is {attribute.type}: no comparison with boolean",
                node,
                "compare it with a literal of its type",
            )
        values = [v for v in (0, 1) if _HOLDS[op](v, int(typed.value)) == outcome]
        union: Union = [(Truth(attribute, v),) for v in values]
        if op == "<=>" and not outcome:
            union.append((Nullness(attribute, State.NULL),))
        return union

    def _in(self, node: exp.Expr, outcome: bool) -> Union | Product:
        refs: list[Ref] = []
        types: list[Type] = []
        has_null = False
        if not node.expressions or node.args.get("query"):
            raise self.operands.expressions.names.outside(node)
        if self.operands.expressions.is_opaque(node.this):
            return self._boolean(node, outcome)
        for one in node.expressions:
            slot = self.operands.tree.slot(one) if isinstance(one, exp.Literal) else -1
            if slot >= 0 and self.operands.tree.raws[slot][0] == "(":
                refs.append(Ref(slot, WHOLE))
                types += self.operands.types_in(one)
                self.operands.shapes[slot] = list_shape
                continue
            literal = self.operands.literal(one)
            if literal is None or literal[1].type == BOOLEAN:
                return self._boolean(node, outcome)
            if literal[1].value is None:
                has_null = True
            else:
                refs.append(literal[0])
                types.append(literal[1].type)
                self.operands.shapes[literal[0].slot] = list_shape
        if not refs:
            self.operands.attribute(node.this)
            return []
        attribute = self.operands.attribute(node.this)
        common = common_of_list([attribute.type, *types], self.operands.space.settings)
        if common is None:
            raise self.operands.tree.error(
                f"{attribute.type} cannot be looked up among "
                f"{', '.join(dict.fromkeys(map(str, types)))}",
                node,
                "write array_contains(tags, 'a')" if attribute.type.is_tags
                else casts.instead(attribute.type),
            )  # fmt: skip
        if len(refs) == 1 and refs[0].cast == TIMESTAMP and not has_null:
            return self.when(exp.EQ(this=node.this, expression=node.expressions[0]), outcome)
        if cast_needed(attribute.type, common):
            self.operands.derived.pop(attribute.name, None)
            attribute = self.operands.cast(node.this, common)
        if is_lossy(attribute.type, common):
            return self._one_by_one(node, attribute, refs, common, has_null, outcome)
        if self._as_pairs(attribute.type, refs):
            common = None
        else:
            self.operands.shapes |= dict.fromkeys((ref.slot for ref in refs), types_shape)
        return [(Member(attribute, tuple(refs), outcome, False, has_null, common),)]

    def _one_by_one(
        self,
        node: exp.Expr,
        attribute: Attribute,
        refs: Sequence[Ref],
        common: Type,
        has_null: bool,
        outcome: bool,
    ) -> Union | Product:
        """A list of values to each of which, after Spark's cast, many keys are equal."""
        self.operands.expressions.names.fixed |= {ref.slot for ref in refs}
        lengths = [
            len(literals.elements(self.operands.tree.raws[ref.slot])) if ref.is_list else 1
            for ref in refs
        ]
        self.check_alternatives(sum(lengths), node)
        single = [
            replace(ref, element=i) if ref.is_list else ref
            for ref, length in zip(refs, lengths, strict=True)
            for i in range(length)
        ]
        if outcome:
            equal: Union = [(Member(attribute, (ref,), common=common),) for ref in single]
            return equal
        if has_null:
            return []
        apart: list[Union] = [
            [(Compare(attribute, op, ref, common),) for op in ("lt", "gt")] for ref in single
        ]
        return Product(apart)

    def _as_pairs(self, attribute: Type, refs: Sequence[Ref]) -> bool:
        """Whether comparing with each value of a list by itself says the same as with the list."""
        raws = [raw for ref in refs for raw in literals.elements(self.operands.tree.raws[ref.slot])]
        kinds = set(literals.kinds([raw.lstrip("+- ") for raw in raws]))
        if len(kinds) != 1 or max(map(len, raws)) > 18 or any(ref.cast for ref in refs):
            return False
        if kinds == {"s"}:
            return attribute == STRING or self.operands.space.settings.ansi
        return kinds <= set("ide") and attribute.is_numeric and attribute.precision <= 18

    def _is(self, node: exp.Expr, outcome: bool) -> Union:
        if (
            isinstance(node.expression, exp.Null)
            and not self.operands.expressions.type_of(node.this).is_attribute
        ):
            return self._boolean(node, outcome)
        if isinstance(node.expression, exp.Null):
            return self._nullness(node, node.this, outcome, is_null=outcome)
        raise self.operands.expressions.names.outside(node)

    def _nullness(self, node: exp.Expr, subject: exp.Expr, outcome: bool, is_null: bool) -> Union:
        """Whether an expression is null; what can raise Spark computes only if it can be null."""
        if self.operands.expressions.attribute(subject).can_raise:
            return self._boolean(node, outcome)
        attribute = self.operands.attribute(subject)
        return [(Nullness(attribute, State.NULL if is_null else _NOT_NULL),)]

    def _like(self, node: exp.Expr, subject: exp.Expr, like: exp.Expr, outcome: bool) -> Union:
        literal = self.operands.literal(unwrapped(like))
        if literal is None or literal[1].type != STRING or literal[1].value is None:
            return self._boolean(node, outcome)
        ref, typed = literal
        self.operands.shapes[ref.slot] = pattern_shape
        if self.operands.expressions.type_of(subject) != STRING or pattern(typed.value) == "other":
            return self._boolean(node, outcome)
        attribute = self.operands.attribute(subject)
        if pattern(typed.value) == "exact":
            return [(Member(attribute, (ref,), outcome),)]
        return _prefix(attribute, ref, outcome)

    def _call(self, node: exp.Expr, outcome: bool) -> Union:
        name = call_name(node)
        arguments = node.expressions
        if name in ("array_contains", "arrays_overlap") and len(arguments) == 2:
            tagged = tagging(self.operands, name, arguments, outcome)
            if tagged is not None:
                return tagged
        if (
            name in ("isnull", "isnotnull")
            and len(arguments) == 1
            and not self.operands.expressions.is_opaque(arguments[0])
        ):
            is_null = (name == "isnull") == outcome
            return self._nullness(node, arguments[0], outcome, is_null)
        if name == "startswith" and len(arguments) == 2:
            literal = self.operands.literal(arguments[1])
            plain = (
                literal is not None
                and literal[1].type == STRING
                and literal[1].value is not None
                and not set(literal[1].value) & set("\\%")
            )
            if (
                literal is not None
                and plain
                and self.operands.expressions.type_of(arguments[0]) == STRING
            ):
                self.operands.shapes[literal[0].slot] = plain_shape
                return _prefix(self.operands.attribute(arguments[0]), literal[0], outcome)
            if literal is not None and literal[0].slot >= 0:
                self.operands.shapes[literal[0].slot] = plain_shape
        return self._boolean(node, outcome)

    def _boolean(self, node: exp.Expr, outcome: bool) -> Union:
        """A condition that is no interval of anything: a derived boolean that Spark computes."""
        type_ = self.operands.expressions.type_of(node)
        if type_ != BOOLEAN:
            is_literal = isinstance(unwrapped(node), exp.Literal)
            raise self.operands.tree.error(
                f"this is {type_}, not a condition", node,
                "repeat the column before it, or use IN for several values" if is_literal
                else "compare it with something",
            )  # fmt: skip
        attribute = self.operands.attribute(node)
        return [(Truth(attribute, int(outcome)),)]


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b, "<=>": lambda a, b: a == b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def _wants_null(atom: Atom) -> bool:
    """Whether an atom may hold for an attribute that is null."""
    if isinstance(atom, Nullness):
        return bool(atom.states & State.NULL)
    return isinstance(atom, Member) and atom.null_safe


def _prefix(attribute: Attribute, ref: Ref, outcome: bool) -> Union:
    if outcome:
        return [(Prefix(attribute, ref),)]
    return [(Prefix(attribute, ref, "below"),), (Prefix(attribute, ref, "above"),)]

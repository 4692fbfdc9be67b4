"""The two sides of a condition: the attribute that it constrains and the literal it names."""

from __future__ import annotations

from sqlglot import exp

from covey.language import casts, literals
from covey.language.analysis import ExpressionTypes
from covey.language.coerce import cast_needed, common_with
from covey.language.expressions import Expressions
from covey.language.grammar import Tree
from covey.language.literals import LiteralError, Typed
from covey.language.nodes import unwrapped
from covey.language.shapes import Key, itself, list_shape, types_shape
from covey.language.slots import Ref
from covey.space.space import Attribute, Space
from covey.space.types import BOOLEAN, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, Type

__all__ = ["Operands"]


class Operands:
    """The operands of one tree; collects the derived attributes and the keys of its plan."""

    def __init__(self, tree: Tree, space: Space, types: ExpressionTypes | None = None) -> None:
        self.tree, self.space = tree, space
        self.expressions = Expressions(tree, space, types)
        self.derived: dict[str, Attribute] = {}
        self.shapes: dict[int, Key] = {}

    def keys(self) -> tuple[tuple[int, Key], ...]:
        """What of which literals shapes the plan."""
        keys = {**self.shapes, **dict.fromkeys(self.expressions.names.fixed, itself)}
        return tuple(sorted(keys.items(), key=lambda key: key[0]))

    def check_slots(self) -> None:
        """Every literal must have been understood, or something was dropped on the way."""
        seen = {
            self.tree.slot(n)
            for n in self.tree.root.walk()
            if isinstance(n, exp.Literal | exp.RawString)
        }
        if len(seen) != len(self.tree.raws):
            raise self.tree.error(
                "something in this predicate is outside the language", self.tree.root
            )

    def attribute(self, node: exp.Expr) -> Attribute:
        """The attribute that an expression is; a derived one is noted."""
        attribute = self.expressions.attribute(node)
        if attribute.is_derived:
            self.derived[attribute.name] = attribute
        return attribute

    def comparable(self, node: exp.Expr, ref: Ref, typed: Typed) -> Attribute:
        """The attribute that a comparison constrains: the expression, or its cast."""
        if not node.find(exp.Column):
            self.expressions.type_or_none(node)
            raise self.expressions.constant(node)
        attribute = self.attribute(node)
        if not attribute.type.is_scalar and typed.value is not None:
            raise self.tree.error(
                f"{attribute.name} is {attribute.type}", node,
                "write array_contains(tags, 'a')" if attribute.type.is_tags
                else "compare vector_l2_distance(embedding, array(…)) with a number",
            )  # fmt: skip
        if typed.value is None:
            return attribute
        common = common_with(attribute.type, typed, self.space.settings)
        if common is None:
            problem = f"{attribute.name} is {attribute.type}: no comparison with {typed.type}"
            hint = casts.instead(attribute.type)
            if ref.slot < 0:
                raise self.tree.error(problem, node, hint)
            raise self.tree.error_in(ref.slot, problem, hint)
        if attribute.type == STRING and common != STRING and ref.slot >= 0:
            self.shapes[ref.slot] = types_shape
        if attribute.type == TIMESTAMP_NTZ and typed.type == TIMESTAMP:
            self.shapes[ref.slot] = itself
        if cast_needed(attribute.type, common):
            if attribute.is_derived:
                del self.derived[attribute.name]
            return self.cast(node, common)
        return attribute

    def cast(self, node: exp.Expr, common: Type) -> Attribute:
        """An expression cast to the type in which Spark compares it."""
        attribute = self.expressions.cast(node, common)
        self.derived[attribute.name] = attribute
        return attribute

    def flag(self, attribute: Attribute) -> Attribute:
        """The attribute that tells whether another one can be computed; it is noted."""
        self.derived[attribute.flag.name] = attribute.flag
        return attribute.flag

    def types_in(self, node: exp.Expr) -> tuple[Type, ...]:
        """The types of the values of a list."""
        try:
            return literals.element_types(self.tree.raws[self.tree.slot(node)])
        except LiteralError as error:
            raise self.tree.error(str(error), node) from None

    def literal(self, node: exp.Expr) -> tuple[Ref, Typed] | None:
        """A literal, and what it is in the predicate at hand; `None` for anything else."""
        node = unwrapped(node)
        negative = isinstance(node, exp.Neg)
        if negative:
            node = node.this
            if not isinstance(node, exp.Literal) or self.expressions.names.is_list(node):
                return None
        if isinstance(node, exp.Boolean) and not negative:
            return Ref(-1), Typed(BOOLEAN, bool(node.this))
        if isinstance(node, exp.Null):
            return Ref(-1), Typed(VOID, None)
        cast = None
        if (
            isinstance(node, exp.Cast)
            and not negative
            and isinstance(unwrapped(node.this), exp.Literal | exp.RawString)
        ):
            cast = self.expressions.names.data_type(node.to)
            if not cast.is_datetime:
                return None
            node = unwrapped(node.this)
        if not isinstance(node, exp.Literal | exp.RawString):
            return None
        slot = self.tree.slot(node)
        element = None
        if self.tree.raws[slot][0] == "(":
            if len(literals.elements(self.tree.raws[slot])) != 1:
                raise self.tree.error(
                    "a list cannot stand here", node, "use IN, or compare values one by one"
                )
            element = 0
            self.shapes[slot] = list_shape
        ref = Ref(slot, element, negative, cast, isinstance(node, exp.RawString))
        try:
            return ref, ref.typed(self.tree.raws, self.space.settings)
        except LiteralError as error:
            raise self.tree.error(str(error), node) from None

"""The two sides of a condition: the attribute that the condition constrains, and the literal."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from covey.language.compile.cache_keys import (
    CacheKey,
    chosen_key,
    combine_keys,
    list_key,
    literal_key,
    pattern_key,
    types_key,
)
from covey.language.semantics.expression_types import ExpressionTypes
from covey.language.semantics.expressions import Expressions
from covey.language.syntax.ast_utils import unwrap_parentheses
from covey.language.syntax.grammar import PredicateTree
from covey.language.values import casts, literals
from covey.language.values.coercion import common_type_with_literal, needs_cast
from covey.language.values.literal_columns import LiteralRef
from covey.language.values.literals import LiteralError, TypedLiteral
from covey.space.space import Attribute, Space
from covey.space.types import BOOLEAN, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, Type

__all__ = ["Operands"]


class Operands:
    """Reader of the operands in one tree. It collects the cache keys of their literals."""

    def __init__(
        self, tree: PredicateTree, space: Space, types: ExpressionTypes | None = None
    ) -> None:
        self.tree, self.space = tree, space
        self.expressions = Expressions(tree, space, types)
        self.cache_keys: dict[int, CacheKey] = {}

    def all_cache_keys(self) -> tuple[tuple[int, CacheKey], ...]:
        """Return the slots of literals that affect how the template is compiled.

        The slots are in ascending order, each with the function that returns the cache key of the
        slot's literal.
        """
        names = self.expressions.names
        keys: dict[int, CacheKey] = dict.fromkeys(names.pattern_slots, pattern_key)
        for slot, own_key in self.cache_keys.items():
            is_pattern = slot in keys and own_key is not pattern_key
            keys[slot] = partial(combine_keys, (pattern_key, own_key)) if is_pattern else own_key
        for slot in {*names.typed_slots, *names.chosen_literals}:
            chosen = names.chosen_literals.get(slot, frozenset[str]())
            key: CacheKey = partial(chosen_key, chosen)
            if slot in keys:
                key = partial(combine_keys, (keys[slot], key))
            keys[slot] = key
        keys |= dict.fromkeys(names.fixed_slots, literal_key)
        return tuple(sorted(keys.items(), key=lambda key: key[0]))

    def check_slots(self) -> None:
        """Raise PredicateError if a literal of the text is not in the tree.

        In that case sqlglot has dropped a part of the text.
        """
        tree_slots = {
            self.tree.slot_of(n)
            for n in self.tree.root.walk()
            if isinstance(n, exp.Literal | exp.RawString | exp.HexString)
        }
        if len(tree_slots) != len(self.tree.raws):
            raise self.tree.error(
                "a part of this predicate is outside the language", self.tree.root,
                "leave out conditions one by one to find it",
            )  # fmt: skip

    def comparison_attribute(
        self, node: exp.Expr, ref: LiteralRef, literal: TypedLiteral
    ) -> Attribute:
        """Return the attribute that a comparison of an expression with a literal constrains.

        This is the attribute of the expression or, if the common type requires a cast that does not
        preserve the order of values, the attribute of the cast.

        Raises:
            PredicateError: the expression has no column, or cannot be compared with the literal.
        """
        if not node.find(exp.Column) and not self.expressions.has_types:
            self.expressions.type_or_none(node)
            raise self.expressions.constant_error(node)
        attribute = self.expressions.resolve_attribute(node)
        if not attribute.type.is_scalar and literal.value is not None:
            raise self.tree.error(
                f"{attribute.name} is {attribute.type} and cannot be compared with {literal.type}",
                node,
                "write array_contains(tags, 'a')" if attribute.type.is_tags
                else "compare vector_l2_distance(embedding, array(…)) with a number",
            )  # fmt: skip
        if literal.value is None:
            return attribute
        common = common_type_with_literal(attribute.type, literal, self.space.settings)
        if common is None:
            problem = (
                f"{attribute.name} is {attribute.type} and cannot be compared with {literal.type}"
            )
            hint = casts.literal_hint(attribute.type)
            if ref.slot < 0:
                raise self.tree.error(problem, node, hint)
            raise self.tree.error_at_slot(ref.slot, problem, hint)
        if attribute.type == STRING and common != STRING and ref.slot >= 0:
            self.cache_keys[ref.slot] = types_key
        if attribute.type == TIMESTAMP_NTZ and literal.type == TIMESTAMP:
            self.cache_keys[ref.slot] = literal_key
        if needs_cast(attribute.type, common):
            return self.expressions.derive_cast(node, common)
        return attribute

    def list_types(self, node: exp.Expr) -> tuple[Type, ...]:
        """Return the types of the values in a list of literals."""
        try:
            return literals.list_element_types(self.tree.raws[self.tree.slot_of(node)])
        except LiteralError as error:
            raise self.tree.error(str(error), node) from None

    def read_literal(self, node: exp.Expr) -> tuple[LiteralRef, TypedLiteral] | None:
        """Return a reference to a literal, with the type and the value that the literal has here.

        Return None if the expression is not a literal.

        Raises:
            PredicateError: the literal is a list of several values, or cannot be decoded.
        """
        node = unwrap_parentheses(node)
        is_negative = isinstance(node, exp.Neg)
        if is_negative:
            node = node.this
            if not isinstance(node, exp.Literal) or self.expressions.names.is_literal_list(node):
                return None
        if isinstance(node, exp.Boolean) and not is_negative:
            return LiteralRef(-1), TypedLiteral(BOOLEAN, bool(node.this))
        if isinstance(node, exp.Null):
            return LiteralRef(-1), TypedLiteral(VOID, None)
        cast_type = None
        if (
            isinstance(node, exp.Cast)
            and not is_negative
            and isinstance(unwrap_parentheses(node.this), exp.Literal | exp.RawString)
        ):
            cast_type = self.expressions.names.resolve_type(node.to)
            if not cast_type.is_datetime:
                return None
            node = unwrap_parentheses(node.this)
        if not isinstance(node, exp.Literal | exp.RawString):
            return None
        slot = self.tree.slot_of(node)
        element = None
        if self.tree.raws[slot][0] == "(":
            if len(literals.split_list(self.tree.raws[slot])) != 1:
                raise self.tree.error(
                    "a list is not allowed here", node, "use IN, or compare values one by one"
                )
            element = 0
            self.cache_keys[slot] = list_key
        ref = LiteralRef(slot, element, is_negative, cast_type, isinstance(node, exp.RawString))
        try:
            return ref, ref.decode(self.tree.raws, self.space.settings)
        except LiteralError as error:
            raise self.tree.error(str(error), node) from None

"""Compiler from a syntax tree to its disjunctive normal form, for the outcomes true and false.

For each of the two outcomes, the set of the events with this outcome is computed. Three-valued
logic needs no third set: an event on which a condition is null is in neither set, and NOT swaps the
two sets. A fourth outcome is that Spark raises an error, for example on a vector of the wrong
length. Spark evaluates from left to right, so `a OR b` is true on events on which a is true, or on
which a does not raise an error and b is true.

A conjunction is a tuple of atoms. The number of conjunctions is limited, because it can be
exponential in the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from covey.errors import PredicateError
from covey.language.compile.atoms import Conjunction, Dnf, LateTruth, Membership
from covey.language.compile.cache_keys import CacheKey
from covey.language.compile.conditions import Conditions, TooManyAlternativesError
from covey.language.compile.operands import Operands
from covey.language.semantics.admission import check_admitted
from covey.language.semantics.expression_types import (
    ExpressionTypes,
    MissingExpression,
    NotAnalysedError,
)
from covey.language.semantics.name_resolver import resolve_keywords
from covey.language.syntax.ast_utils import flatten_chain, unwrap_parentheses
from covey.language.syntax.grammar import PredicateTree, parse_tree
from covey.language.values.literals import LiteralError
from covey.space.space import Attribute, Space

__all__ = ["MAX_REGIONS", "CompiledTemplate", "compile_template"]

MAX_REGIONS = 64


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """A template as a union of conjunctions whose literals are references to slots.

    `cache_keys` contains the slots of literals that affect the result, each with a function that
    returns the literal's cache key. Predicates with equal keys share the compiled template.
    """

    conjunctions: tuple[Conjunction, ...]
    derived_attributes: tuple[Attribute, ...]
    cache_keys: tuple[tuple[int, CacheKey], ...]
    missing_types: tuple[MissingExpression, ...] = ()
    """Expressions whose types must be known first. If there are any, `conjunctions` is empty."""


def compile_template(
    text: str,
    space: Space,
    max_regions: int = MAX_REGIONS,
    types: ExpressionTypes | None = None,
) -> CompiledTemplate:
    """Return the compiled template of a predicate.

    Args:
        text: the predicate.
        space: the attributes of events.
        max_regions: the largest number of conjunctions.
        types: the types of expressions as Spark's analyzer reports them. If it lacks a type, the
            result lists the expression in `missing_types`.

    Raises:
        PredicateError: the predicate is wrong, or outside the language.
    """
    tree = resolve_keywords(parse_tree(text, space.limits), space)
    converter = _DnfConverter(tree, space, max_regions, types)
    operands = converter.operands
    names = operands.expressions.names
    try:
        conjunctions = converter.to_dnf(tree.root, True)
        check_admitted(names)
    except NotAnalysedError as error:
        check_admitted(names)
        return CompiledTemplate((), (), operands.all_cache_keys(), error.expressions)
    except LiteralError as error:
        raise PredicateError(str(error), text, 0) from None
    operands.check_slots()
    return CompiledTemplate(
        tuple(dict.fromkeys(conjunctions)),
        _find_derived_attributes(conjunctions),
        operands.all_cache_keys(),
    )


class _DnfConverter:
    """Converter of the ANDs, ORs and NOTs of one tree.

    Results are cached by node, because the chains of ANDs and ORs that contain an operand may need
    the events on which it is true, those on which it is false, and those on which it does not raise
    an error.
    """

    def __init__(
        self, tree: PredicateTree, space: Space, max_regions: int, types: ExpressionTypes | None
    ) -> None:
        self.operands = Operands(tree, space, types)
        self.conditions = Conditions(self.operands, max_regions)
        # Keys contain id(node). Each entry holds its node, so that the id cannot be reused.
        self._unions: dict[tuple[int, bool], tuple[exp.Expr, Dnf]] = {}
        self._non_raising: dict[int, tuple[exp.Expr, Dnf | None]] = {}
        self._desugared: dict[int, tuple[exp.Expr, exp.Expr]] = {}

    def to_dnf(self, node: exp.Expr, outcome: bool) -> Dnf:
        """Return the events on which a condition has the given outcome, as a union."""
        node = unwrap_parentheses(node)
        key = id(node), outcome
        if key not in self._unions:
            self._unions[key] = node, self._convert(self._desugar(node), outcome)
        return self._unions[key][1]

    def _convert(self, node: exp.Expr, outcome: bool) -> Dnf:
        """Return the events on which a desugared condition has the given outcome."""
        if isinstance(node, exp.Not):
            return self.to_dnf(node.this, not outcome)
        if isinstance(node, exp.And | exp.Or):
            parts = flatten_chain(node)
            try:
                if isinstance(node, exp.And) == outcome:
                    return self._intersect(parts, outcome, node)
                return self._unite(parts, outcome, node)[-1]
            except TooManyAlternativesError as error:
                return self.conditions.convert_opaque(node, outcome, error)
        if isinstance(node, exp.Boolean):
            return [()] if node.this == outcome else []
        if isinstance(node, exp.Null):
            return []
        union = self.conditions.to_dnf(node, outcome)
        if isinstance(union, list):
            self._check_alternatives(union, node)
            return union
        return self._cross_product(union.sides, node)

    def _desugar(self, node: exp.Expr) -> exp.Expr:
        """Return the result of `_rewrite` for a condition, from the cache if possible."""
        if id(node) not in self._desugared:
            self._desugared[id(node)] = node, self._rewrite(node)
        return self._desugared[id(node)][1]

    def _rewrite(self, node: exp.Expr) -> exp.Expr:
        """Return an equivalent condition of a simpler form.

        BETWEEN, <>, IS TRUE or FALSE, IN with booleans, and conditions with NOT inside, such as
        NOT LIKE, are replaced by comparisons with AND, OR and NOT. Other conditions are unchanged.
        """
        if isinstance(node.args.get("expression"), exp.Any | exp.All):
            return node  # NOT LIKE ANY is not the negation of LIKE ANY
        if node.args.get("negate"):
            positive = node.copy()
            positive.set("negate", None)
            return exp.Not(this=positive)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            if self.operands.expressions.is_opaque(node.this):
                return node  # Spark pads and collates the ends of BETWEEN unlike comparisons
            low = exp.GTE(this=node.this, expression=node.args["low"])
            high = exp.LTE(this=node.this, expression=node.args["high"])
            return exp.And(this=low, expression=high)
        if isinstance(node, exp.NullSafeNEQ):
            return exp.Not(this=exp.NullSafeEQ(this=node.this, expression=node.expression))
        if isinstance(node, exp.NEQ):
            return exp.Not(this=exp.EQ(this=node.this, expression=node.expression))
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
            return exp.NullSafeEQ(this=node.this, expression=node.expression)
        if isinstance(node, exp.In) and _has_only_booleans(node):
            equal = [exp.EQ(this=node.this, expression=value) for value in node.expressions]
            return reduce(lambda a, b: exp.Or(this=a, expression=b), equal)  # type: ignore[arg-type, return-value]
        return node

    def non_raising(self, node: exp.Expr) -> Dnf | None:
        """Return the events on which Spark can compute a condition without raising an error.

        The result is a union of conjunctions, or None for all events.
        """
        node = unwrap_parentheses(node)
        if id(node) not in self._non_raising:
            self._non_raising[id(node)] = node, self._find_non_raising(self._desugar(node))
        return self._non_raising[id(node)][1]

    def _find_non_raising(self, node: exp.Expr) -> Dnf | None:
        """Return the result of `non_raising` for a desugared condition."""
        if isinstance(node, exp.Not):
            return self.non_raising(node.this)
        if isinstance(node, exp.Boolean | exp.Null):
            return None
        if not isinstance(node, exp.And | exp.Or):
            return self.conditions.non_raising(node)
        try:
            return self._find_non_raising_chain(node)
        except TooManyAlternativesError as error:
            atoms = tuple(self.conditions.find_opaque_checks(node, error))
            return [atoms] if atoms else None

    def _find_non_raising_chain(self, node: exp.Expr) -> Dnf | None:
        """Return the result of `non_raising` for a chain of ANDs or of ORs."""
        deciding_outcome = isinstance(node, exp.Or)  # a part with this outcome decides the chain
        parts = flatten_chain(node)
        nulls = [] if deciding_outcome else [part for part in parts if isinstance(part, exp.Null)]
        if nulls or any(() in self.to_dnf(part, deciding_outcome) for part in parts):
            return None  # a constant decides: Spark's optimizer evaluates nothing else
        non_raising = self.non_raising(parts[0])
        if all(self.non_raising(part) is None for part in parts[1:]):
            return non_raising
        # Spark computes each part only on events on which no part before it decides the chain.
        decided_unions = self._unite(parts, deciding_outcome, node)
        for decided_before, part in zip(decided_unions, parts[1:], strict=False):
            part_non_raising = self.non_raising(part)
            if part_non_raising is not None:
                sides = [side for side in (non_raising, part_non_raising) if side is not None]
                non_raising = decided_before + self._cross_product(sides, node)
                self._check_alternatives(non_raising, node)
        return non_raising

    def _convert_each(self, nodes: Sequence[exp.Expr], outcome: bool) -> list[Dnf]:
        """Return for each condition the events on which it has the given outcome.

        Raises:
            NotAnalysedError: types are missing. The error lists the expressions of all conditions
                whose types are missing.
        """
        unions: list[Dnf] = []
        missing: list[MissingExpression] = []
        for part in nodes:
            try:
                unions.append(self.to_dnf(part, outcome))
            except NotAnalysedError as error:
                missing += error.expressions
        if missing:
            raise NotAnalysedError(list(dict.fromkeys(missing)))
        return unions

    def _intersect(self, parts: Sequence[exp.Expr], outcome: bool, node: exp.Expr) -> Dnf:
        """Return the events on which each of several conditions has the given outcome.

        Conditions that would lead to too many alternatives are computed by Spark as a whole.
        """
        unions = self._convert_each(parts, outcome)
        product: Dnf = [()]
        for i in sorted(range(len(parts)), key=lambda i: len(unions[i])):
            try:
                product = self._cross_product([product, unions[i]], node)
            except TooManyAlternativesError as error:
                opaque = self.conditions.convert_opaque(parts[i], outcome, error)
                product = self._cross_product([product, opaque], node)
        return product

    def _cross_product(self, sides: Sequence[Dnf], node: exp.Expr) -> Dnf:
        """Return the events that all unions in `sides` contain, as a union of conjunctions."""
        product: Dnf = [()]
        for side in sides:
            self.conditions.check_alternatives(len(product) * len(side), node)
            product = [tuple(dict.fromkeys(a + b)) for a in product for b in side]
        return product

    def _unite(self, nodes: Sequence[exp.Expr], outcome: bool, node: exp.Expr) -> list[Dnf]:
        """Return for each k the events on which one of the first k + 1 conditions has the outcome.

        Spark evaluates the conditions from left to right. So an event is included only if no
        condition before the one with the outcome raises an error on it. If a constant decides the
        chain, the result has only one union, which contains all events.
        """
        unions = self._convert_each(nodes, outcome)
        if any(() in union for union in unions):
            return [[()]]  # a constant decides: Spark's optimizer evaluates nothing else
        united: Dnf = []
        prefixes: list[Dnf] = []
        non_raising: Dnf = [()]  # the events on which no condition so far raises
        for part, union in zip(nodes, unions, strict=True):
            if union:
                alternatives = self._cross_product([non_raising, union], node)
                united = _merge_memberships(united + alternatives)
                self._check_alternatives(united, node)
            prefixes.append(united)
            part_non_raising = self.non_raising(part) if len(prefixes) < len(nodes) else None
            if part_non_raising is not None:
                non_raising = self._cross_product([non_raising, part_non_raising], node)
        return prefixes

    def _check_alternatives(self, conjunctions: Sequence[Conjunction], node: exp.Expr) -> None:
        """Raise PredicateError if there are more conjunctions than `max_regions`."""
        self.conditions.check_alternatives(len(conjunctions), node)


def _find_derived_attributes(conjunctions: Iterable[Conjunction]) -> tuple[Attribute, ...]:
    """Return the derived attributes of conjunctions, each only once."""
    atoms = (atom for conjunction in conjunctions for atom in conjunction)
    attributes = (
        atom.template if isinstance(atom, LateTruth) else atom.attribute for atom in atoms
    )
    return tuple(dict.fromkeys(attribute for attribute in attributes if attribute.is_derived))


def _has_only_booleans(node: exp.In) -> bool:
    """Return whether all values of a list are true, false or NULL, and at least one is not NULL."""
    values = [e for e in node.expressions if not isinstance(e, exp.Null)]
    return bool(values) and all(isinstance(e, exp.Boolean) for e in values)


def _merge_memberships(union: Iterable[Conjunction]) -> Dnf:
    """Return a union in which equalities and IN lists on one attribute are merged into one.

    Only alternatives that consist of one equality or IN list are merged. Negated and null-safe
    conditions, and those with a cast to a common type or a lossy cast, are not merged.
    """
    other_conjunctions: dict[Conjunction, None] = {}
    memberships: dict[str, Membership] = {}
    for conjunction in union:
        atom = conjunction[0] if len(conjunction) == 1 else None
        is_plain = isinstance(atom, Membership) and not (
            atom.null_safe or atom.common_type or atom.is_lossy
        )
        if isinstance(atom, Membership) and is_plain and atom.is_positive:
            merged = memberships.get(atom.attribute.name)
            memberships[atom.attribute.name] = replace(
                atom, refs=tuple(dict.fromkeys((merged.refs if merged else ()) + atom.refs))
            )
        else:
            other_conjunctions[conjunction] = None
    return [*other_conjunctions, *((membership,) for membership in memberships.values())]

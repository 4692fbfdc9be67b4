"""From a tree to its disjunctive normal form: for which events it is true, and for which false.

Three-valued logic needs no third set: where a condition is null it is in neither. NOT swaps the
two. A fourth outcome is that Spark raises (on a vector of another length): it evaluates from left
to right, so `a OR b` is true where a is true, or where a did not raise and b is true.

A conjunction is a set of atoms. Their number is bounded, so that no text can blow it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from covey.errors import PredicateError
from covey.language.compile.atoms import Conjunction, Dnf, Membership
from covey.language.compile.cache_keys import CacheKey
from covey.language.compile.conditions import Conditions
from covey.language.compile.operands import Operands
from covey.language.semantics.admission import check_admitted
from covey.language.semantics.expression_types import ExpressionTypes, NotAnalysedError
from covey.language.syntax.ast_utils import flatten_chain, unwrap_parentheses
from covey.language.syntax.grammar import PredicateTree, parse_tree
from covey.language.values.literals import LiteralError
from covey.space.space import Attribute, Space

__all__ = ["MAX_REGIONS", "CompiledTemplate", "compile_template"]

MAX_REGIONS = 64


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """What a template asks for: conjunctions with literals yet to be filled in.

    `cache_keys` tells, for slots whose literal shapes the plan, by what; predicates with the same
    answers share the plan.
    """

    conjunctions: tuple[Conjunction, ...]
    derived_attributes: tuple[Attribute, ...]
    cache_keys: tuple[tuple[int, CacheKey], ...]
    missing_types: tuple[str, ...] = ()
    """Expressions whose types must be known first; there are no conjunctions then."""


def compile_template(
    text: str,
    space: Space,
    max_regions: int = MAX_REGIONS,
    types: ExpressionTypes | None = None,
) -> CompiledTemplate:
    """The plan of a predicate's template, from one predicate that has it."""
    tree = parse_tree(text, space.limits)
    logic = _DnfConverter(tree, space, max_regions, types)
    names = logic.operands.expressions.names
    try:
        conjunctions = logic.to_dnf(tree.root, True)
        check_admitted(names)
    except NotAnalysedError as error:
        check_admitted(names)
        return CompiledTemplate((), (), logic.operands.all_cache_keys(), error.expressions)
    except LiteralError as error:
        raise PredicateError(str(error), text, 0) from None
    operands = logic.operands
    operands.check_slots()
    return CompiledTemplate(
        tuple(dict.fromkeys(conjunctions)),
        _find_derived_attributes(conjunctions),
        operands.all_cache_keys(),
    )


class _DnfConverter:
    """The connectives of one tree.

    What is known of a node is remembered: an operand is asked for by every chain around it, for
    both outcomes and for whether it raises.
    """

    def __init__(
        self, tree: PredicateTree, space: Space, max_regions: int, types: ExpressionTypes | None
    ) -> None:
        self.operands = Operands(tree, space, types)
        self.conditions = Conditions(self.operands, max_regions)
        # By identity, each with its node, which thereby lives as long as its number means it.
        self._unions: dict[tuple[int, bool], tuple[exp.Expr, Dnf]] = {}
        self._non_raising: dict[int, tuple[exp.Expr, Dnf | None]] = {}
        self._desugared: dict[int, tuple[exp.Expr, exp.Expr]] = {}

    def to_dnf(self, node: exp.Expr, outcome: bool) -> Dnf:
        """For which events a condition has an outcome, as a union of conjunctions."""
        node = unwrap_parentheses(node)
        key = id(node), outcome
        if key not in self._unions:
            self._unions[key] = node, self._convert(self._desugar(node), outcome)
        return self._unions[key][1]

    def _convert(self, node: exp.Expr, outcome: bool) -> Dnf:
        if isinstance(node, exp.Not):
            return self.to_dnf(node.this, not outcome)
        if isinstance(node, exp.And | exp.Or):
            parts = flatten_chain(node)
            if isinstance(node, exp.And) == outcome:
                return self._cross_product(self._convert_each(parts, outcome), node)
            return self._unite(parts, outcome, node)[-1]
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
        """The same condition in terms of fewer kinds of nodes."""
        if id(node) not in self._desugared:
            self._desugared[id(node)] = node, self._rewrite(node)
        return self._desugared[id(node)][1]

    def _rewrite(self, node: exp.Expr) -> exp.Expr:
        if node.args.get("negate"):
            positive = node.copy()
            positive.set("negate", None)
            return exp.Not(this=positive)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            if self.operands.expressions.is_opaque(node.this):
                return node  # Spark does not pad or collate its ends as those of comparisons
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
            equal = [exp.EQ(this=node.this, expression=one) for one in node.expressions]
            return reduce(lambda a, b: exp.Or(this=a, expression=b), equal)  # type: ignore[arg-type, return-value]
        return node

    def non_raising(self, node: exp.Expr) -> Dnf | None:
        """For which events a condition does not raise; `None` for all of them."""
        node = unwrap_parentheses(node)
        if id(node) not in self._non_raising:
            self._non_raising[id(node)] = node, self._find_non_raising(self._desugar(node))
        return self._non_raising[id(node)][1]

    def _find_non_raising(self, node: exp.Expr) -> Dnf | None:
        if isinstance(node, exp.Not):
            return self.non_raising(node.this)
        if isinstance(node, exp.Boolean | exp.Null):
            return None
        if not isinstance(node, exp.And | exp.Or):
            return self.conditions.non_raising(node)
        settled = isinstance(node, exp.Or)
        parts = flatten_chain(node)
        nothing = [] if settled else [part for part in parts if isinstance(part, exp.Null)]
        if nothing or any(() in self.to_dnf(part, settled) for part in parts):
            return None  # a constant decides: Spark's optimizer evaluates nothing else
        calm = self.non_raising(parts[0])
        if all(self.non_raising(part) is None for part in parts[1:]):
            return calm
        # Each part is computed where those before it did not settle the chain.
        settled_before = self._unite(parts, settled, node)
        for before, part in zip(settled_before, parts[1:], strict=False):
            next_calm = self.non_raising(part)
            if next_calm is not None:
                both = [side for side in (calm, next_calm) if side is not None]
                calm = before + self._cross_product(both, node)
                self._check_alternatives(calm, node)
        return calm

    def _convert_each(self, nodes: Sequence[exp.Expr], outcome: bool) -> list[Dnf]:
        """For which events each of some conditions has an outcome."""
        unions: list[Dnf] = []
        missing: list[str] = []
        for part in nodes:
            try:
                unions.append(self.to_dnf(part, outcome))
            except NotAnalysedError as error:
                missing += error.expressions
        if missing:
            raise NotAnalysedError(list(dict.fromkeys(missing)))
        return unions

    def _cross_product(self, sides: Sequence[Dnf], node: exp.Expr) -> Dnf:
        product: Dnf = [()]
        for side in sides:
            self.conditions.check_alternatives(len(product) * len(side), node)
            product = [tuple(dict.fromkeys(a + b)) for a in product for b in side]
        return product

    def _unite(self, nodes: Sequence[exp.Expr], outcome: bool, node: exp.Expr) -> list[Dnf]:
        """For which events some of the first conditions have an outcome, by how many they are.

        Unless a constant decides, there is a union for each number of conditions.
        """
        unions = self._convert_each(nodes, outcome)
        if any(() in union for union in unions):
            return [[()]]  # a constant decides: Spark's optimizer evaluates nothing else
        found: Dnf = []
        prefixes: list[Dnf] = []
        quiet: Dnf = [()]
        for part, union in zip(nodes, unions, strict=True):
            if union:
                found = _merge_memberships(found + self._cross_product([quiet, union], node))
                self._check_alternatives(found, node)
            prefixes.append(found)
            calm = self.non_raising(part) if len(prefixes) < len(nodes) else None
            if calm is not None:
                quiet = self._cross_product([quiet, calm], node)
        return prefixes

    def _check_alternatives(self, conjunctions: Sequence[Conjunction], node: exp.Expr) -> None:
        self.conditions.check_alternatives(len(conjunctions), node)


def _find_derived_attributes(conjunctions: Iterable[Conjunction]) -> tuple[Attribute, ...]:
    """The attributes of some conjunctions that Spark computes."""
    attributes = (atom.attribute for conjunction in conjunctions for atom in conjunction)
    return tuple(dict.fromkeys(one for one in attributes if one.is_derived))


def _has_only_booleans(node: exp.In) -> bool:
    given = [e for e in node.expressions if not isinstance(e, exp.Null)]
    return bool(given) and all(isinstance(e, exp.Boolean) for e in given)


def _merge_memberships(union: Iterable[Conjunction]) -> Dnf:
    """A union in which equalities of one attribute have become one list."""
    kept: dict[Conjunction, None] = {}
    members: dict[str, Membership] = {}
    for conjunction in union:
        atom = conjunction[0] if len(conjunction) == 1 else None
        plain = isinstance(atom, Membership) and not (
            atom.null_safe or atom.common_type or atom.is_lossy
        )
        if isinstance(atom, Membership) and plain and atom.is_positive:
            known = members.get(atom.attribute.name)
            members[atom.attribute.name] = replace(
                atom, refs=tuple(dict.fromkeys((known.refs if known else ()) + atom.refs))
            )
        else:
            kept[conjunction] = None
    return [*kept, *((member,) for member in members.values())]

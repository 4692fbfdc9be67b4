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
from covey.language.admission import check_admitted
from covey.language.analysis import ExpressionTypes, NotAnalysedError
from covey.language.atoms import Conjunction, Member, Union
from covey.language.conditions import Conditions
from covey.language.grammar import Tree, parse_tree
from covey.language.literals import LiteralError
from covey.language.nodes import chain, unwrapped
from covey.language.operands import Operands
from covey.language.shapes import Key
from covey.space.space import Attribute, Space

__all__ = ["MAX_REGIONS", "Plan", "plan"]

MAX_REGIONS = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """What a template asks for: conjunctions with literals yet to be filled in.

    `keys` tells, for slots whose literal shapes the plan, by what; predicates with the same
    answers share the plan.
    """

    conjunctions: tuple[Conjunction, ...]
    derived: tuple[Attribute, ...]
    keys: tuple[tuple[int, Key], ...]
    missing: tuple[str, ...] = ()
    """Expressions whose types must be known first; there are no conjunctions then."""


def plan(
    text: str,
    space: Space,
    max_regions: int = MAX_REGIONS,
    types: ExpressionTypes | None = None,
) -> Plan:
    """The plan of a predicate's template, from one predicate that has it."""
    tree = parse_tree(text, space.limits)
    logic = _Logic(tree, space, max_regions, types)
    names = logic.operands.expressions.names
    try:
        conjunctions = logic.when(tree.root, True)
        check_admitted(names)
    except NotAnalysedError as error:
        check_admitted(names)
        return Plan((), (), logic.operands.keys(), error.expressions)
    except LiteralError as error:
        raise PredicateError(str(error), text, 0) from None
    operands = logic.operands
    operands.check_slots()
    return Plan(
        tuple(dict.fromkeys(conjunctions)), tuple(operands.derived.values()), operands.keys()
    )


class _Logic:
    """The connectives of one tree."""

    def __init__(
        self, tree: Tree, space: Space, max_regions: int, types: ExpressionTypes | None
    ) -> None:
        self.operands = Operands(tree, space, types)
        self.conditions = Conditions(self.operands, max_regions)

    def when(self, node: exp.Expr, outcome: bool) -> Union:
        """For which events a condition has an outcome, as a union of conjunctions."""
        node = self._desugared(unwrapped(node))
        if isinstance(node, exp.Not):
            return self.when(node.this, not outcome)
        if isinstance(node, exp.And | exp.Or):
            parts = chain(node)
            if isinstance(node, exp.And) == outcome:
                return self._all(self._each(parts, outcome), node)
            return self._any(parts, outcome, node)
        if isinstance(node, exp.Boolean):
            return [()] if node.this == outcome else []
        if isinstance(node, exp.Null):
            return []
        union = self.conditions.when(node, outcome)
        if isinstance(union, list):
            self._check(union, node)
            return union
        return self._all(union.sides, node)

    def _desugared(self, node: exp.Expr) -> exp.Expr:
        """The same condition in terms of fewer kinds of nodes."""
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

    def calm(self, node: exp.Expr) -> Union | None:
        """For which events a condition does not raise; `None` for all of them."""
        node = self._desugared(unwrapped(node))
        if isinstance(node, exp.Not):
            return self.calm(node.this)
        if isinstance(node, exp.Boolean | exp.Null):
            return None
        if not isinstance(node, exp.And | exp.Or):
            return self.conditions.quiet(node)
        settled = isinstance(node, exp.Or)
        parts = chain(node)
        nothing = [] if settled else [part for part in parts if isinstance(part, exp.Null)]
        if nothing or any(() in self.when(part, settled) for part in parts):
            return None  # a constant decides: Spark's optimizer evaluates nothing else
        first, *rest = parts
        calm = self.calm(first)
        for part in rest:
            next_calm = self.calm(part)
            if next_calm is not None:
                both = [side for side in (calm, next_calm) if side is not None]
                calm = self.when(first, settled) + self._all(both, node)
                self._check(calm, node)
            first = type(node)(this=first, expression=part)
        return calm

    def _each(self, parts: Sequence[exp.Expr], outcome: bool) -> list[Union]:
        """For which events each of some conditions has an outcome."""
        unions: list[Union] = []
        missing: list[str] = []
        for part in parts:
            try:
                unions.append(self.when(part, outcome))
            except NotAnalysedError as error:
                missing += error.expressions
        if missing:
            raise NotAnalysedError(list(dict.fromkeys(missing)))
        return unions

    def _all(self, sides: Sequence[Union], node: exp.Expr) -> Union:
        product: Union = [()]
        for side in sides:
            product = [tuple(dict.fromkeys(a + b)) for a in product for b in side]
            self._check(product, node)
        return product

    def _any(self, parts: Sequence[exp.Expr], outcome: bool, node: exp.Expr) -> Union:
        unions = self._each(parts, outcome)
        if any(() in union for union in unions):
            return [()]  # a constant decides: Spark's optimizer evaluates nothing else
        found: Union = []
        quiet: list[Union] = []
        for part, union in zip(parts, unions, strict=True):
            found = _merged(found + self._all([*quiet, union], node))
            self._check(found, node)
            calm = self.calm(part)
            if calm is not None:
                quiet.append(calm)
        return found

    def _check(self, conjunctions: Sequence[Conjunction], node: exp.Expr) -> None:
        self.conditions.check_alternatives(len(conjunctions), node)


def _has_only_booleans(node: exp.In) -> bool:
    given = [e for e in node.expressions if not isinstance(e, exp.Null)]
    return bool(given) and all(isinstance(e, exp.Boolean) for e in given)


def _merged(union: Iterable[Conjunction]) -> Union:
    """A union in which equalities of one attribute have become one list."""
    kept: dict[Conjunction, None] = {}
    members: dict[str, Member] = {}
    for conjunction in union:
        atom = conjunction[0] if len(conjunction) == 1 else None
        plain = isinstance(atom, Member) and not (atom.null_safe or atom.common or atom.is_lossy)
        if isinstance(atom, Member) and plain and atom.when:
            known = members.get(atom.attribute.name)
            members[atom.attribute.name] = replace(
                atom, refs=tuple(dict.fromkeys((known.refs if known else ()) + atom.refs))
            )
        else:
            kept[conjunction] = None
    return [*kept, *((member,) for member in members.values())]

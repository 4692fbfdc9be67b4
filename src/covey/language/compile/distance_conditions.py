"""Compiler of conditions on the distance to a literal vector, as balls."""

from __future__ import annotations

from sqlglot import exp

from covey.geometry.distances import Metric
from covey.language.compile.atoms import Dnf, InBall
from covey.language.compile.cache_keys import vector_length_key
from covey.language.compile.operands import Operands
from covey.language.syntax.ast_utils import call_name, unwrap_parentheses
from covey.language.values.literal_columns import WHOLE_LIST, LiteralRef
from covey.language.values.literals import TypedLiteral
from covey.space.types import FLOAT, STRING, Type, array_type

__all__ = ["distance_condition", "is_distance"]

_METRICS = {"vector_l2_distance": Metric.L2, "vector_cosine_similarity": Metric.COSINE}


def is_distance(node: exp.Expr) -> bool:
    """Return whether an expression calls a distance or similarity function of two vectors."""
    return isinstance(node, exp.Anonymous) and call_name(node) in _METRICS


def distance_condition(
    operands: Operands,
    call: exp.Expr,
    op: str,
    ref: LiteralRef,
    literal: TypedLiteral,
    outcome: bool,
) -> Dnf | None:
    """Return the events on which a comparison of a distance has the given outcome.

    Args:
        operands: the operands of the tree.
        call: the call of the distance function.
        op: lt, le, gt, ge, = or <=>.
        ref: a reference to the literal that the distance is compared with.
        literal: the type and value of that literal in this predicate.
        outcome: the outcome, true or false.

    Returns:
        A union of conjunctions, or None if no vector or both vectors depend on a column.

    Raises:
        PredicateError: the vectors or the comparison are not supported.
    """
    comparable = literal.type.is_numeric or literal.type == STRING or literal.value is None
    if len(call.expressions) != 2:
        raise operands.tree.error(
            f"{call_name(call)} takes two vectors", call, "write both, separated by a comma"
        )
    if not comparable:
        raise operands.tree.error(
            f"a distance cannot be compared with {literal.type}", call, "compare it with a number"
        )
    sides = [unwrap_parentheses(side) for side in call.expressions]
    event_sides = [side for side in sides if side.find(exp.Column)]
    if len(event_sides) != 1:
        return None
    subject = event_sides[0]
    centre = _read_centre(operands, sides[1] if subject is sides[0] else sides[0])
    attribute = operands.expressions.resolve_attribute(subject)
    if not attribute.type.is_vector:
        raise operands.tree.error(
            f"{attribute.name} is {attribute.type}, not a vector", subject, "name a vector column"
        )
    if literal.value is None:
        return []
    metric = _METRICS[call_name(call)]
    operands.cache_keys[centre.slot] = vector_length_key
    if op == "<=>":
        raise operands.tree.error("<=> with a distance is outside the language", call, "write =")
    if op == "=":
        if outcome:
            return [(InBall(attribute, metric, centre, "=", ref),)]
        return [(InBall(attribute, metric, centre, side, ref),) for side in ("lt", "gt")]
    ball = InBall(attribute, metric, centre, op, ref)
    return [(ball if outcome else ball.negate(),)]


def _read_centre(operands: Operands, node: exp.Expr) -> LiteralRef:
    """Return a reference to the list of numbers in a literal vector.

    Raises:
        PredicateError: `node` is not a literal vector.
    """
    cast_type: Type | None = None
    if isinstance(node, exp.Cast):
        cast_type = operands.expressions.names.resolve_type(node.to)
        if cast_type != array_type(FLOAT):
            raise operands.tree.error(
                f"a vector is an array of floats, not {cast_type}",
                node,
                "write CAST(array(…) AS ARRAY<FLOAT>)",
            )
        node = unwrap_parentheses(node.this)
    elements = (
        node.expressions if isinstance(node, exp.Anonymous) and call_name(node) == "array" else []
    )
    if (
        len(elements) != 1
        or not isinstance(elements[0], exp.Literal)
        or not operands.expressions.names.is_literal_list(elements[0])
    ):
        raise operands.tree.error(
            "one of the two vectors must be a literal",
            node,
            "write CAST(array(0.1, 0.2) AS ARRAY<FLOAT>)",
        )
    return LiteralRef(operands.tree.slot_of(elements[0]), WHOLE_LIST, cast_type=cast_type)

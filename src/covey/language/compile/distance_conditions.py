"""Distances to a literal vector: balls."""

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
    """Whether an expression measures how far a vector is from another."""
    return isinstance(node, exp.Anonymous) and call_name(node) in _METRICS


def distance_condition(
    operands: Operands,
    call: exp.Expr,
    op: str,
    ref: LiteralRef,
    literal: TypedLiteral,
    outcome: bool,
) -> Dnf | None:
    """A condition on the distance to a literal vector, or `None` if it is to something else."""
    comparable = literal.type.is_numeric or literal.type == STRING or literal.value is None
    if len(call.expressions) != 2:
        raise operands.tree.error(
            f"{call_name(call)} takes two vectors", call, "write both, with a comma between"
        )
    if not comparable:
        raise operands.tree.error(
            f"a distance is no {literal.type}", call, "compare it with a number"
        )
    sides = [unwrap_parentheses(side) for side in call.expressions]
    having = [side for side in sides if side.find(exp.Column)]
    if len(having) != 1:
        return None
    centre = _read_centre(operands, sides[1] if having[0] is sides[0] else sides[0])
    attribute = operands.expressions.resolve_attribute(having[0])
    if not attribute.type.is_vector:
        raise operands.tree.error(
            f"{attribute.name} is {attribute.type}, no vector", having[0], "name a vector column"
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
        return [(InBall(attribute, metric, centre, one, ref),) for one in ("lt", "gt")]
    ball = InBall(attribute, metric, centre, op, ref)
    return [(ball if outcome else ball.negate(),)]


def _read_centre(operands: Operands, node: exp.Expr) -> LiteralRef:
    cast: Type | None = None
    if isinstance(node, exp.Cast):
        cast = operands.expressions.names.resolve_type(node.to)
        if cast != array_type(FLOAT):
            raise operands.tree.error(
                f"a vector is an array of floats, not {cast}",
                node,
                "write CAST(array(…) AS ARRAY<FLOAT>)",
            )
        node = unwrap_parentheses(node.this)
    inside = (
        node.expressions if isinstance(node, exp.Anonymous) and call_name(node) == "array" else []
    )
    if (
        len(inside) != 1
        or not isinstance(inside[0], exp.Literal)
        or not operands.expressions.names.is_literal_list(inside[0])
    ):
        raise operands.tree.error(
            "a distance is measured to a literal vector",
            node,
            "write CAST(array(0.1, 0.2) AS ARRAY<FLOAT>)",
        )
    return LiteralRef(operands.tree.slot_of(inside[0]), WHOLE_LIST, cast_type=cast)

"""Distances to a literal vector: balls."""

from __future__ import annotations

from sqlglot import exp

from covey.geometry.distances import Metric
from covey.language.atoms import InBall, Union
from covey.language.literals import Typed
from covey.language.nodes import call_name, unwrapped
from covey.language.operands import Operands
from covey.language.shapes import centre_shape
from covey.language.slots import WHOLE, Ref
from covey.space.types import FLOAT, STRING, Type, array

__all__ = ["is_distance", "nearness"]

_METRICS = {"vector_l2_distance": Metric.L2, "vector_cosine_similarity": Metric.COSINE}


def is_distance(node: exp.Expr) -> bool:
    """Whether an expression measures how far a vector is from another."""
    return isinstance(node, exp.Anonymous) and call_name(node) in _METRICS


def nearness(
    operands: Operands, call: exp.Expr, op: str, ref: Ref, typed: Typed, outcome: bool
) -> Union | None:
    """A condition on the distance to a literal vector, or `None` if it is to something else."""
    comparable = typed.type.is_numeric or typed.type == STRING or typed.value is None
    if len(call.expressions) != 2:
        raise operands.tree.error(
            f"{call_name(call)} takes two vectors", call, "write both, with a comma between"
        )
    if not comparable:
        raise operands.tree.error(
            f"a distance is no {typed.type}", call, "compare it with a number"
        )
    sides = [unwrapped(side) for side in call.expressions]
    having = [side for side in sides if side.find(exp.Column)]
    if len(having) != 1:
        return None
    centre = _centre(operands, sides[1] if having[0] is sides[0] else sides[0])
    attribute = operands.attribute(having[0])
    if not attribute.type.is_vector:
        raise operands.tree.error(
            f"{attribute.name} is {attribute.type}, no vector", having[0], "name a vector column"
        )
    if typed.value is None:
        return []
    metric = _METRICS[call_name(call)]
    operands.shapes[centre.slot] = centre_shape
    if op == "<=>":
        raise operands.tree.error("<=> with a distance is outside the language", call, "write =")
    if op == "=":
        if outcome:
            return [(InBall(attribute, metric, centre, "=", ref),)]
        return [(InBall(attribute, metric, centre, one, ref),) for one in ("lt", "gt")]
    ball = InBall(attribute, metric, centre, op, ref)
    return [(ball if outcome else ball.opposite(),)]


def _centre(operands: Operands, node: exp.Expr) -> Ref:
    cast: Type | None = None
    if isinstance(node, exp.Cast):
        cast = operands.expressions.names.data_type(node.to)
        if cast != array(FLOAT):
            raise operands.tree.error(
                f"a vector is an array of floats, not {cast}",
                node,
                "write CAST(array(…) AS ARRAY<FLOAT>)",
            )
        node = unwrapped(node.this)
    inside = (
        node.expressions if isinstance(node, exp.Anonymous) and call_name(node) == "array" else []
    )
    if (
        len(inside) != 1
        or not isinstance(inside[0], exp.Literal)
        or not operands.expressions.names.is_list(inside[0])
    ):
        raise operands.tree.error(
            "a distance is measured to a literal vector",
            node,
            "write CAST(array(0.1, 0.2) AS ARRAY<FLOAT>)",
        )
    return Ref(operands.tree.slot(inside[0]), WHOLE, cast=cast)

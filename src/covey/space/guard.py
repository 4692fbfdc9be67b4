"""Guarded expressions: one on which Spark raises for some event disturbs no other.

Spark computes the expressions of all subscriptions in one projection, where a division by zero ends
the job. A guarded expression is null on such an event, and its flag, which is computed beside it
where somebody needs it, tells this null from a real one.

Spark has no function that catches whatever an expression raises. But `try_to_binary` catches what
its argument raises. The argument is the branch of a condition that Spark cannot decide beforehand,
or else it would compute what two expressions have in common once, before and outside of both.
"""

from __future__ import annotations

__all__ = ["build_computability_check", "guard_expression"]


def build_computability_check(expression: str) -> str:
    """Return the SQL that tells whether an expression can be computed without an exception.

    >>> build_computability_check("price / qty").startswith("try_to_binary(CASE WHEN")
    True
    """
    computed = f"if(xxhash64({expression}) = 0, 'no', 'yes')"
    hidden = f"CASE WHEN spark_partition_id() >= 0 THEN {computed} END"
    return f"try_to_binary({hidden}, 'utf-8') IS NOT NULL"


def guard_expression(expression: str) -> str:
    """Return the SQL of an expression that is null where computing it would raise."""
    return f"CASE WHEN {build_computability_check(expression)} THEN {expression} END"

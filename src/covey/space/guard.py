"""Guarded SQL expressions: null on events for which the expression would raise an exception.

Spark computes the expressions of all subscriptions in one projection, where for example a division
by zero ends the job. A guarded expression is null on such an event, and other expressions are not
affected. If needed, Spark also computes a flag, which distinguishes such a null from a real null.

Spark has no function that catches all exceptions of an expression, but `try_to_binary` catches the
exceptions of its argument. The argument contains the expression in a CASE whose condition Spark
cannot decide before execution. Without the CASE, Spark would compute a subexpression that two
guarded expressions have in common only once, outside of both guards.
"""

from __future__ import annotations

__all__ = ["build_computability_check", "guard_expression"]


def build_computability_check(expression: str) -> str:
    """Return the SQL of a boolean: whether an expression can be computed without an exception.

    >>> build_computability_check("price / qty").startswith("try_to_binary(CASE WHEN")
    True
    """
    computed = f"if(xxhash64({expression}) = 0, 'no', 'yes')"
    hidden = f"CASE WHEN spark_partition_id() >= 0 THEN {computed} END"
    return f"try_to_binary({hidden}, 'utf-8') IS NOT NULL"


def guard_expression(expression: str) -> str:
    """Return the SQL of an expression that is null where computing it would raise an exception."""
    return f"CASE WHEN {build_computability_check(expression)} THEN {expression} END"

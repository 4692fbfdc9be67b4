"""Guarded SQL expressions: null on events for which the expression would raise an exception.

Spark computes the expressions of all subscriptions in one projection, where for example a division
by zero ends the job. A guarded expression is null on such an event, and other expressions are not
affected. If needed, Spark also computes a flag, which distinguishes such a null from a real null.

Only expressions without a try form are guarded (`Attribute.try_form`).

Spark has no function that catches all exceptions of an expression, but `try_to_binary` catches the
exceptions of its argument. The argument contains the expression in a CASE whose condition Spark
cannot decide before execution. Without the CASE, Spark would compute a subexpression that two
guarded expressions have in common only once, outside of both guards.
"""

from __future__ import annotations

__all__ = [
    "build_computability_check",
    "find_checked_expression",
    "guard_condition",
    "guard_expression",
]

_CHECK_START = "try_to_binary(CASE WHEN spark_partition_id() >= 0 THEN if(xxhash64("
_CHECK_END = ") = 0, 'no', 'yes') END, 'utf-8') IS NOT NULL"


def build_computability_check(expression: str) -> str:
    """Return the SQL of a boolean: whether an expression can be computed without an exception.

    >>> build_computability_check("price / qty").startswith("try_to_binary(CASE WHEN")
    True
    """
    return f"{_CHECK_START}{expression}{_CHECK_END}"


def find_checked_expression(sql: str) -> str | None:
    """Return the expression of `build_computability_check`, or None for any other SQL.

    >>> find_checked_expression(build_computability_check("price / qty"))
    'price / qty'
    """
    if not (sql.startswith(_CHECK_START) and sql.endswith(_CHECK_END)):
        return None
    return sql[len(_CHECK_START) : -len(_CHECK_END)]


def guard_condition(condition: str) -> str:
    """Return the SQL of a boolean: whether a condition holds and can be computed.

    Other than in `guard_expression`, Spark computes the condition only once.
    """
    hidden = f"CASE WHEN spark_partition_id() >= 0 THEN if({condition}, 'y', 'n') END"
    return f"coalesce(try_to_binary({hidden}, 'utf-8') = X'79', false)"


def guard_expression(expression: str) -> str:
    """Return the SQL of an expression that is null where computing it would raise an exception."""
    return f"CASE WHEN {build_computability_check(expression)} THEN {expression} END"

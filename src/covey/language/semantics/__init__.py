"""Names, types and admission: what the expressions of a syntax tree mean.

A plain column of an attribute type is that attribute. Any other expression that stands where an
attribute may stand becomes a derived attribute, named by its canonical text, which Spark computes
once per event for everybody. So each node of a tree is checked: only row functions, no endless
regular expressions, no results without bounds.

Modules in the order in which data passes through them:

- `name_resolver`: columns, fields and types by name, and literals that are part of a name.
- `row_functions`: the functions of Spark that a predicate may call, why others are refused, and
  which arguments are checked as what.
- `arguments`: patterns, formats, schemas, paths and sizes, which are checked so.
- `regex_characters`, `regex_syntax`: patterns as Java reads them.
- `regex_risk`: patterns that could take very long or too much stack, found by reading them.
- `admission`: `check_admitted`, every node and call of a tree against these rules.
- `canonical_form`: the one text of an expression.
- `function_types`: result types of functions and operators, without Spark.
- `expression_types`: protocols for types as Spark's analyzer tells them.
- `totality`: which expressions Spark computes without an exception.
- `expressions`: the type of an expression, and the attribute that it is.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.language.semantics.expression_types import ExpressionTypes, KnownTypes, Refusal

__all__ = [
    "ExpressionTypes",
    "KnownTypes",
    "Refusal",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "ExpressionTypes": "expression_types",
        "KnownTypes": "expression_types",
        "Refusal": "expression_types",
    },
)

"""Names, types and admission: the meaning of the expressions of a syntax tree.

A plain column of an attribute type is that attribute. Any other expression in the place of an
attribute becomes a derived attribute, named by its canonical text. Spark computes it once per event
for all subscriptions, so one expression could slow or break them all. Therefore every node of a
tree is checked: only row functions, no regular expressions of unbounded time, no results of
unbounded size.

Modules in the order in which data passes through them:

- `name_resolver`: columns, fields and types by name, and literals that are part of a name.
- `row_functions`: the functions of Spark that a predicate may call, the reasons why others are
  refused, and the arguments that are checked.
- `arguments`: checks of patterns, formats, schemas, paths and sizes.
- `regex_characters`, `regex_syntax`: patterns as Java reads them.
- `regex_risk`: static detection of patterns that could take very long or overflow the stack.
- `admission`: `check_admitted`, which checks every node and call of a tree.
- `canonical_form`: the canonical text of an expression.
- `function_types`: result types of functions and operators, known without Spark.
- `expression_types`: protocols for types that Spark's analyzer reports.
- `totality`: detection of expressions that Spark computes without an exception.
- `expressions`: the type of an expression, and the attribute that it becomes.
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

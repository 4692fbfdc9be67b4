"""Names, types and admission: the meaning of the expressions in a syntax tree.

A column is itself an attribute if an attribute can have its type. Any other expression that a
condition compares becomes a derived attribute, whose name is its canonical text. Spark computes it
once per event for all subscriptions, so one expression could make all of them slow or make Spark
fail. Therefore every node of a tree is checked: a predicate may call only row functions, and the
time of its regular expressions and the size of its results must be bounded.

Modules in the order in which data passes through them:

- `name_resolver`: columns, fields and types by name, and literals that are part of a name.
- `row_functions`: the functions of Spark that a predicate may call, the reasons why other functions
  are refused, and the arguments that are checked.
- `arguments`: checks of patterns, formats, schemas, paths and sizes.
- `regex_characters`, `regex_syntax`: regular expressions as Java reads them.
- `regex_risk`: detection of regular expressions that could take very long or overflow the stack.
- `admission`: `check_admitted`, which checks every node and call of a tree.
- `canonical_form`: the canonical text of an expression.
- `function_types`: result types of functions and operators, known without Spark.
- `expression_types`: protocols for types that Spark's analyzer reports.
- `totality`: detection of expressions for which Spark never raises an exception.
- `expressions`: the type of an expression, and the attribute that it becomes.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.language.semantics.expression_types import (
        ExpressionTypes,
        KnownTypes,
        Refusal,
        TemplateFacts,
        facts_of_attributes,
        must_be_attribute,
        split_expression,
    )

__all__ = [
    "ExpressionTypes",
    "KnownTypes",
    "Refusal",
    "TemplateFacts",
    "facts_of_attributes",
    "must_be_attribute",
    "split_expression",
]

__getattr__ = lazy_exports(__name__, dict.fromkeys(__all__, "expression_types"))

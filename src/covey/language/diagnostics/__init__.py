"""Diagnosis of texts that are not predicates: the problem, its position, and what to write instead.

Only texts that are already known to be wrong are diagnosed, so these modules do not decide which
texts are predicates. They use the text, with quoted parts masked, and the types of syntax nodes.
They raise no errors: `syntax` and `semantics` convert a diagnosis to a `PredicateError`.

Modules in the order in which they are called:

- `common_mistakes`: patterns of common mistakes (`&&`, `=>`, unclosed quotes, decimal commas),
  misplaced words, unbalanced brackets, and suggestions for unknown names and functions.
- `unsupported_sql`: constructs of Spark SQL that are outside the language; for each, a pattern that
  finds it in a text, and what to write instead.
"""

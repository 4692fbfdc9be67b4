"""What is wrong with a text that is no predicate, where, and what to write instead.

These modules are asked only about texts that cannot be read, so nothing here decides what a
predicate is. They look at the text, with quoted parts masked, and at kinds of syntax nodes; they
raise nothing themselves. `syntax` and `semantics` turn a finding into a `PredicateError` at its
place in the text.

Modules in the order in which they are asked:

- `common_mistakes`: patterns of usual mistakes (`&&`, `=>`, unclosed quotes, decimal commas),
  misplaced words, unbalanced brackets, and suggestions for unknown names and functions.
- `unsupported_sql`: constructs of Spark SQL that are outside the language, with the words by which
  they are found in a text and what to write instead.
"""

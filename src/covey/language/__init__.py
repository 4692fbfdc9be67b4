"""Compiler from Spark SQL predicates to regions, with a renderer and explanations of matches.

`parse` works on batches: literals are extracted from each text, texts that differ only in literals
share a template, and each conjunct of a template is compiled once. The literals of all texts are
then read together, as columns. The regions contain exactly the events that Spark's `where` keeps.

Sub-packages and modules in the order in which data passes through them; each imports only those
before it:

- `values`: types and values of literals, and how Spark casts and compares them.
- `diagnostics`: the problems of texts that are not predicates, and what to write instead.
- `syntax`: templates, their conjuncts, and the syntax tree of one predicate.
- `semantics`: names, types and admission of expressions; derived attributes.
- `compile`: conversion of conditions to atoms, of trees to disjunctive normal form, and of both to
  regions.
- `late_conditions`: conditions that Spark evaluates for candidates, as tokens of regions.
- `clock`: the time that `current_timestamp()` returns, as a part of an expression.
- `parser`: `Parser` and `parse`, which call the sub-packages above for batches of texts.
- `renderer`: `render`, which writes a region as a predicate.
- `explanation`: `explain`, which reports the conditions of a predicate that hold on an event.
- `text_comparisons`: the texts that columns are compared with.
- `fingerprint`: digests of predicates; predicates with equal regions have equal digests.
"""

from covey.language.explanation import Explanation, explain
from covey.language.parser import Parser, Predicates, parse
from covey.language.renderer import render

__all__ = ["Explanation", "Parser", "Predicates", "explain", "parse", "render"]

"""Predicates of Spark SQL to regions and back, and explanations of single matches.

`parse` works on batches: literals are cut out of each text, texts that differ only in literals
share a template, and each conjunct of a template is compiled once. The literals of all texts are
then read together, as columns. What the regions contain is exactly what Spark's `where` would keep.

Sub-packages and modules in the order in which data passes through them; each imports only those
before it:

- `values`: literals, what they are, and how Spark casts and compares them.
- `diagnostics`: what is wrong with a text that is no predicate, and what to write instead.
- `syntax`: templates, their conjuncts, and the syntax tree of one predicate.
- `semantics`: names, types and admission of expressions; derived attributes.
- `compile`: conditions to atoms, the disjunctive normal form, and regions.
- `parser`: `Parser` and `parse`, which drive all of these for batches of texts.
- `renderer`: `render`, a region as a predicate again.
- `explanation`: `explain`, which conditions of a predicate hold on an event.
- `text_comparisons`: the texts that columns are compared with.
- `fingerprint`: digests of predicates, equal where their regions are equal.
"""

from covey.language.explanation import Explanation, explain
from covey.language.parser import Parser, Predicates, parse
from covey.language.renderer import render

__all__ = ["Explanation", "Parser", "Predicates", "explain", "parse", "render"]

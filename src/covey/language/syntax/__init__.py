"""Templates, conjuncts and syntax trees: the grammar of predicates, without their meaning.

sqlglot reads the grammar only. Literals are replaced by numbered slots before it sees a text, and
functions stay what the user wrote. Whatever sqlglot reads in another way than Spark is refused
here, so that the tree has Spark's meaning or is an error at its place.

Modules in the order in which data passes through them:

- `conjuncts`: a template split at its ANDs, as text, so that each conjunct is parsed only once.
- `grammar`: `parse_tree`, one text as a `PredicateTree`, with checks of size, depth and precedence.
- `ast_utils`: operators by their signs, parentheses, and chains of ANDs and ORs.
"""

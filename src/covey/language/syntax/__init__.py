"""Templates, conjuncts and syntax trees: the grammar of predicates, without their meaning.

sqlglot is used only for the grammar. Literals are replaced by numbered slots before sqlglot reads a
text, and calls of functions are left as the user wrote them. A text that sqlglot and Spark read
differently is refused with an error at that position, so every tree has Spark's meaning.

Modules in the order in which data passes through them:

- `conjuncts`: splitting of a template's text at its ANDs, so that each conjunct is parsed once.
- `grammar`: `parse_tree`, one text as a `PredicateTree`, with checks of size, depth and precedence.
- `ast_utils`: signs of operators, parentheses, and chains of ANDs and ORs.
"""

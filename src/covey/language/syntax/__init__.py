"""Templates, conjuncts and syntax trees: the grammar of predicates, without their meaning.

sqlglot is used only for the grammar. Literals are replaced by numbered slots before it reads a
text, and calls of functions are left as the user wrote them. Texts that sqlglot reads in another
way than Spark are refused with an error at their position, so every tree has Spark's meaning.

Modules in the order in which data passes through them:

- `conjuncts`: splitting of a template's text at its ANDs, so that each conjunct is parsed once.
- `grammar`: `parse_tree`, one text as a `PredicateTree`, with checks of size, depth and precedence.
- `ast_utils`: signs of operators, parentheses, and chains of ANDs and ORs.
"""

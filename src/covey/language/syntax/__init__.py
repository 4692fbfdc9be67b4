"""Templates, conjuncts and syntax trees: the grammar of predicates, without their meaning.

sqlglot is used only for the grammar. Literals are replaced by numbered slots before sqlglot reads a
text, and calls of functions are left as the user wrote them. If sqlglot and Spark read a part of a
text differently, the text is refused with an error at that part. So every tree has the meaning that
Spark gives to its text.

Modules in the order in which data passes through them:

- `conjuncts`: splitting of templates at AND, so that a common conjunct is parsed only once.
- `grammar`: `parse_tree`, which reads one text as a `PredicateTree`, and checks its size, depth and
  precedence.
- `type_parser`: the part of the grammar that reads the types of casts.
- `ast_utils`: signs of operators, parentheses, and chains of ANDs and ORs.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.language.syntax.grammar import parse_tree

__all__ = ["parse_tree"]

__getattr__ = lazy_exports(__name__, {"parse_tree": "grammar"})

"""Literals: how they are cut out of a text, read, cast and compared, and written again.

Literals never pass through the SQL parser. They mean what Spark's lexer makes of them, and a
comparison with one becomes a pair of bounds in the ordered keys of an attribute. Columns of plain
literals are read at once; whatever those fast paths do not cover is read literal by literal, with
the same result.

Modules in the order in which data passes through them:

- `literals`: template and literals of a text; kind, type and value of one literal.
- `casts`: what Spark reads in a text that it compares with a number, date, time or boolean.
- `coercion`: the common type of a comparison, and the key bound of a literal.
- `literal_columns`: the literals of many predicates, one slot of their template at a time.
- `vector_literals`: arrays of numbers as float32 vectors.
- `sql_literals`: keys and texts as Spark literals, the inverse of reading them.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.language.values.literals import (
        SLOT_MARK,
        LiteralError,
        decode_literal,
        extract_literals,
    )
    from covey.language.values.sql_literals import float32_literal, key_literal, quote_string

__all__ = [
    "SLOT_MARK",
    "LiteralError",
    "decode_literal",
    "extract_literals",
    "float32_literal",
    "key_literal",
    "quote_string",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "LiteralError": "literals",
        "SLOT_MARK": "literals",
        "decode_literal": "literals",
        "extract_literals": "literals",
        "float32_literal": "sql_literals",
        "key_literal": "sql_literals",
        "quote_string": "sql_literals",
    },
)

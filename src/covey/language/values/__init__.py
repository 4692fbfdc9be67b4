"""Literals: extraction from a text, decoding, casts, comparison with keys, and writing.

The SQL parser does not read literals. They have the type and value that Spark's lexer gives them,
and a comparison with a literal becomes a pair of bounds in the ordered keys of an attribute.
Columns of plain literals are decoded together. Other literals are decoded one by one, with the same
result.

Modules in the order in which data passes through them:

- `literals`: the template and the literals of a text; kind, type and value of one literal.
- `casts`: Spark's casts from text to number, date, time and boolean.
- `coercion`: the common type of a comparison, and the bounds of a literal in the keys.
- `literal_columns`: the literals of many predicates, read one slot of the template at a time.
- `vector_literals`: arrays of numbers as float32 vectors.
- `sql_literals`: keys and texts written as Spark literals.
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

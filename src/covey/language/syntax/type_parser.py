"""Parser of the types that a CAST names: Spark's grammar of types, without collations.

sqlglot's own grammar has types of many databases. It reads some texts as a type that Spark refuses,
or as another type than Spark does, such as `TIMESTAMP WITHOUT TIME ZONE`.
"""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

__all__ = ["RefusedSyntaxError", "TypeParser"]


class RefusedSyntaxError(Exception):
    """Raised for a mistake whose message names what is wrong or missing.

    `offset` is the position in the text that the parser reads.
    """

    def __init__(self, problem: str, offset: int, hint: str) -> None:
        super().__init__(problem)
        self.problem, self.offset, self.hint = problem, offset, hint


class TypeParser(SparkParser):
    """sqlglot's parser for Spark, with Spark's grammar of types."""

    def _refuse(self, problem: str, hint: str) -> NoReturn:
        """Raise the error of a mistake at the next token."""
        offset = self._curr.start if self._curr else self._prev.end + 1
        raise RefusedSyntaxError(problem, offset, hint)

    def _parse_types(
        self, check_func: bool = False, schema: bool = False, allow_identifiers: bool = True,
        with_collation: bool = False,
    ) -> exp.Expr | None:  # fmt: skip
        """Return a type; in an expression, only that of a literal such as `DATE '2024-05-31'`.

        If `check_func` is set, the next token is in an expression, and the result is None if it
        does not begin a literal.
        """
        if not check_func:
            type_ = self._parse_type_name()
            if with_collation and self._match(TokenType.COLLATE, advance=False):
                self._refuse("a CAST to a collation is outside the language", "CAST to string")
            return type_
        is_literal = self._next and self._next.token_type is TokenType.STRING
        if not is_literal or self._type_word() not in _LITERAL_TYPES:
            return None
        return self._parse_type_name()

    def _type_word(self) -> str:
        """Return the next token in lower case, or "" if it cannot be a word of a type."""
        is_word = self._curr and self._curr.token_type not in _QUOTED
        return self._curr.text.lower() if is_word else ""

    def _parse_type_name(self) -> exp.DataType:
        """Return a type; refuse a text that has none here."""
        word = self._type_word()
        if not word[:1].isalpha():
            self._refuse("a type is missing", "write a type such as INT")
        if word in ("array", "map", "struct"):
            return self._parse_nested_type(word)
        is_sized = self._next and self._next.token_type is TokenType.L_PAREN
        self._check_type_name(word, is_sized=bool(is_sized))
        self._advance()
        if word == "interval":
            return self._parse_interval_type()
        if word == "timestamp":
            if self._match_text_seq("WITHOUT", "TIME", "ZONE"):
                word = "timestamp_ntz"
            elif self._match_text_seq("WITH", "LOCAL", "TIME", "ZONE"):
                word = "timestamp_ltz"
        sizes = [self._parse_type_sizes()] if is_sized else None
        return exp.DataType(this=_SCALAR_TYPES[word], expressions=sizes, nested=False)

    def _check_type_name(self, word: str, *, is_sized: bool) -> None:
        """Refuse a word that is not the name of a type, or that needs or takes no size."""
        name, hint = self._curr.text, "CAST to string"
        if word in _TYPES_WITH_LENGTH and not is_sized:
            self._refuse(f"{name} needs a length", hint)
        if word in _TYPES_WITH_LENGTH:
            self._refuse("a CAST to a text of limited length is outside the language", hint)
        if word in ("geography", "geometry") and not is_sized:
            self._refuse(f"{name} needs an SRID", hint)
        if word in ("geography", "geometry"):
            self._refuse(f"a CAST to {word} is outside the language", "cast to a scalar type")
        if word not in (_SIZED_TYPES if is_sized else {*_SCALAR_TYPES, "interval"}):
            self._refuse(
                f"Spark has no type {name}{'(…)' if is_sized else ''}",
                "name a type of Spark, such as STRING, DOUBLE or TIMESTAMP",
            )

    def _parse_type_sizes(self) -> exp.Expr:
        """Return the list of the sizes of a type, which is one literal: `(10, 2)`."""
        self._match(TokenType.L_PAREN)
        if not self._match(TokenType.NUMBER):
            self._refuse("the size of a type must be a whole number", "write DECIMAL(10, 2)")
        size = self.expression(exp.Literal(this=self._prev.text, is_string=False), self._prev)
        if not self._match(TokenType.R_PAREN):
            self._refuse("the size of a type must be a whole number", "write DECIMAL(10, 2)")
        return exp.DataTypeParam(this=size)

    def _parse_nested_type(self, word: str) -> exp.DataType:
        """Return a type that consists of other types."""
        self._advance()
        example = _NESTED_EXAMPLES[word]
        if not self._match(TokenType.LT):
            self._refuse(f"{word.upper()} needs its types", f"write {example}")
        types: list[exp.Expr] = []
        while not types or self._match(TokenType.COMMA):
            types.append(self._parse_type_field() if word == "struct" else self._parse_type_name())
        if not self._match(TokenType.GT) or len(types) != {"array": 1, "map": 2}.get(
            word, len(types)
        ):
            self._refuse(f"this is not a type {word.upper()}", f"write it as {example}")
        return exp.DataType(this=exp.DType[word.upper()], expressions=types, nested=True)

    def _parse_type_field(self) -> exp.Expr:
        """Return a field of a struct: its name and its type."""
        is_quoted = self._curr and self._curr.token_type is TokenType.IDENTIFIER
        if not is_quoted and not self._type_word()[:1].isalpha():
            self._refuse("the name of a field is missing", f"write {_NESTED_EXAMPLES['struct']}")
        self._advance()
        name = self._identifier_expression(quoted=bool(is_quoted))
        self._match(TokenType.COLON)
        return exp.ColumnDef(this=name, kind=self._parse_type_name())

    def _parse_interval_type(self) -> exp.DataType:
        """Return a type of intervals, after the word INTERVAL."""
        first = self._type_word()
        if first not in _INTERVAL_UNITS:
            return exp.DataType(this=exp.DType.INTERVAL)
        self._advance()
        unit: exp.Expr = exp.var(first.upper())
        if self._match_text_seq("TO"):
            last = self._type_word()
            if last not in _INTERVAL_UNITS[first]:
                self._refuse(
                    f"a smaller unit is missing after {first.upper()} TO",
                    "write YEAR TO MONTH, or DAY TO SECOND",
                )
            self._advance()
            unit = exp.IntervalSpan(this=unit, expression=exp.var(last.upper()))
        return exp.DataType(this=exp.Interval(unit=unit))


_QUOTED = frozenset({TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING})

_SCALAR_TYPES = {
    "tinyint": exp.DType.TINYINT, "byte": exp.DType.TINYINT,
    "smallint": exp.DType.SMALLINT, "short": exp.DType.SMALLINT,
    "int": exp.DType.INT, "integer": exp.DType.INT,
    "bigint": exp.DType.BIGINT, "long": exp.DType.BIGINT,
    "float": exp.DType.FLOAT, "real": exp.DType.FLOAT, "double": exp.DType.DOUBLE,
    "decimal": exp.DType.DECIMAL, "dec": exp.DType.DECIMAL, "numeric": exp.DType.DECIMAL,
    "boolean": exp.DType.BOOLEAN, "string": exp.DType.TEXT, "binary": exp.DType.BINARY,
    "date": exp.DType.DATE, "time": exp.DType.TIME, "timestamp": exp.DType.TIMESTAMPTZ,
    "timestamp_ltz": exp.DType.TIMESTAMPLTZ, "timestamp_ntz": exp.DType.TIMESTAMPNTZ,
    "variant": exp.DType.VARIANT, "void": exp.DType.NULL,
}  # fmt: skip
"""The types that do not consist of other types, by their names in Spark."""

_SIZED_TYPES = frozenset({"dec", "decimal", "numeric", "time"})

_TYPES_WITH_LENGTH = frozenset({"char", "character", "varchar"})
"""Types that Spark does not have without a length."""

_LITERAL_TYPES = frozenset({"date", "time", "timestamp", "timestamp_ltz", "timestamp_ntz"})
"""Types that have literals such as `DATE '2024-05-31'`."""

_NESTED_EXAMPLES = {
    "array": "ARRAY<INT>", "map": "MAP<STRING, INT>", "struct": "STRUCT<a: INT, b: STRING>",
}  # fmt: skip

_INTERVAL_UNITS = {
    "year": {"month"}, "month": set[str](), "day": {"hour", "minute", "second"},
    "hour": {"minute", "second"}, "minute": {"second"}, "second": set[str](),
}  # fmt: skip
"""The units of types of intervals, each with those that may follow it after TO."""

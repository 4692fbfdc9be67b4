"""Literals: extraction from a predicate's text, and type and value of each literal.

A text without its literals is a *template*. Predicates that differ only in their literals share a
template, which is parsed once for all of them. The SQL parser does not read literals. They have the
type and value that Spark's lexer gives them: `1` is an int, `1.5` a decimal, `1e3` a double, and
`1.5F` a float. Escapes in strings are those of Spark.

Cost: extraction from one text takes about 4 µs, much less than parsing it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from covey.space.keys import encode_double
from covey.space.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    Type,
    decimal_type,
)

__all__ = [
    "SLOT_MARK",
    "LiteralError",
    "TypedLiteral",
    "blank_comments",
    "blank_literals",
    "decode_literal",
    "extract_literals",
    "iterate_tokens",
    "list_element_types",
    "literal_kind",
    "round_to_float32",
    "split_list",
    "unquote",
]  # fmt: skip

_TAIL = r"(?:[eE][+-]?[0-9]+)?(?:[bB][dD]|[LSYDFlsydf])?(?![\w`])"
_NUMBER = rf"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_TAIL}"
_SINGLE, _DOUBLE = r"[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'", r'[^"\\]*+(?:(?:\\.|"")[^"\\]*+)*+"'
# An unclosed quote extends to the end of the text. Otherwise each later quote would be tried as an
# opening one, and each time the text would be read to its end.
_UNCLOSED = r".*+"
_ELEMENT_PATTERN = rf"""(?:'{_SINGLE}|"{_DOUBLE}|(?:[+-]\s*+)?{_NUMBER})"""
# One letter before a quote is a prefix, as in r'\d' and X'1F'; a longer word is not, as in
# DATE'2024-05-31'.
# The first character decides which branch can match: Python searches for an expression that starts
# with a plain set of characters several times faster than for one that starts with alternatives.
_LITERAL = re.compile(
    rf"""(['"`0-9.(](?:
        (?<=')(?:(?<=\w\w')|(?<!\w'))(?:{_SINGLE}|{_UNCLOSED})
      | (?<=")(?:(?<=\w\w")|(?<!\w"))(?:{_DOUBLE}|{_UNCLOSED})
      | (?<=[0-9])(?<![\w.`][0-9])[0-9]*(?:\.[0-9]*)?{_TAIL}
      | (?<=\.)(?<![\w.`)\]]\.)[0-9]+{_TAIL}
      | (?<=\()\s*+{_ELEMENT_PATTERN}(?:\s*+,\s*+{_ELEMENT_PATTERN})*+\s*+\)
      | (?<=(?<!\w)[rRxX]')[^']*' | (?<=(?<!\w)[rRxX]")[^"]*"
      | (?<=`)(?:[^`]|``)*`
    ))""",
    re.DOTALL | re.ASCII | re.VERBOSE,
)
_ELEMENT = re.compile(_ELEMENT_PATTERN, re.DOTALL | re.ASCII)

SLOT_MARK = "\0"
"""The character that replaces a literal in a template."""


class TypedLiteral(NamedTuple):
    """Type and value of a literal.

    The value of null is None, and the value of a decimal is a `Decimal`. A date is a number of
    days, and a time is a number of microseconds, since 1970-01-01.
    """

    type: Type
    value: Any


class LiteralError(ValueError):
    """Error of a literal that Spark refuses or covey does not support.

    The caller adds the position and raises a `PredicateError`.
    """


def extract_literals(text: str) -> tuple[str, list[str]]:
    """Return the template of a text and its literals as written.

    A list of literals in parentheses counts as one literal.

    >>> extract_literals("price > 5 AND city IN ('Rome', 'Oslo')")
    ('price > \\x00 AND city IN \\x00', ['5', "('Rome', 'Oslo')"])
    """
    parts = _LITERAL.split(blank_comments(text))
    if not parts[-1] and len(parts) > 1 and not _is_closed(parts[-2]):
        parts[-3:] = ["".join(parts[-3:])]
    if SLOT_MARK in text:
        parts = [
            p.replace(SLOT_MARK, "\ufffd") if i % 2 == 0 or p[0] == "`" else p
            for i, p in enumerate(parts)
        ]
    if "`" not in text:
        return SLOT_MARK.join(parts[::2]), parts[1::2]
    for i in range(1, len(parts), 2):
        if parts[i][0] == "`":
            parts[i - 1], parts[i] = parts[i - 1] + parts[i], ""
    pieces = [
        part + SLOT_MARK if raw else part
        for part, raw in zip(parts[::2], [*parts[1::2], ""], strict=True)
    ]
    return "".join(pieces), [raw for raw in parts[1::2] if raw]


def blank_comments(text: str) -> str:
    """Return a text of the same length with blanks in place of comments.

    As in Spark, `/* */` comments nest, a backslash at the end of a line continues a `--` comment,
    and a hint `/*+ */` is not a comment.
    """
    if "--" not in text and "/*" not in text:
        return text
    pieces, end = [], 0
    for match in _NOTABLE.finditer(text):
        if match.start() < end or match.group()[0] not in "-/":
            continue
        start, stop, comment = match.start(), match.end(), match.group()
        if comment == "/*":  # another comment may be nested in it
            stop = _find_comment_end(text, start)
            comment = text[start:stop]
        if stop == start:
            break  # an unclosed comment: Spark refuses the text
        blank = _NOT_NEWLINE.sub(" ", comment) if "\n" in comment else " " * len(comment)
        pieces += [text[end:start], blank]
        end = stop
    return "".join([*pieces, text[end:]])


_NOTABLE = re.compile(
    rf"""(?<=[rR])'[^']*'|'{_SINGLE}|(?<=[rR])"[^"]*"|"{_DOUBLE}|`(?:[^`]|``)*`"""
    rf"""|['"]{_UNCLOSED}"""
    r"""|--(?:\\\n|[^\r\n])*|/\*(?!\+)(?:[^*/]*\*/)?""",
    re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_BRACKET = re.compile(r"/\*|\*/")


def _find_comment_end(text: str, start: int) -> int:
    """Return the end of the comment that starts at `start`, or `start` if it has no end."""
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return start


def iterate_tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the literals and names in backticks of a text without comments, in their order."""
    for match in _LITERAL.finditer(text):
        if match.end() < len(text) or _is_closed(match.group()):
            yield match


def _is_closed(raw: str) -> bool:
    """Return whether a literal is complete; a text without its closing quote is not."""
    return raw[0] not in "'\"" or _CLOSED.fullmatch(raw) is not None


_CLOSED = re.compile(rf"""'{_SINGLE}|"{_DOUBLE}""", re.DOTALL)


def blank_literals(text: str) -> str:
    """Return a text of the same length with blanks for literals, quoted names and comments."""
    uncommented = blank_comments(text)
    pieces, end = [], 0
    for match in iterate_tokens(uncommented):
        pieces += [uncommented[end : match.start()], " " * len(match.group())]
        end = match.end()
    return "".join([*pieces, uncommented[end:]])


_BY_LAST = {"'": "s", '"': "s", ")": "(", "D": "e", "d": "e", "F": "f", "f": "f"} | dict.fromkeys(
    "LlSsYy", "l"
)


def literal_kind(raw: str) -> str:
    """Return the kind of a literal as one letter; literals of one kind can be decoded together.

    The letters: s for a text, i for an int, d for a decimal, e for a double, f for a float, l for
    an integer with a suffix, and ( for a list of literals.
    """
    if raw.isdigit():
        return "i"
    letter = _BY_LAST.get(raw[-1])
    if letter is None:
        return "e" if "e" in raw or "E" in raw else "d"
    return "d" if letter == "e" and raw[-2] in "bB" else letter


_DIGITS = frozenset("0123456789")


def literal_kinds(raws: Sequence[str]) -> str:
    """Return the kinds of literals as one text, with the letter of each (see `literal_kind`).

    For plain numbers, this is much faster than calls of `literal_kind`.

    >>> literal_kinds(["1.5", "2.25"]), literal_kinds(["1", "2L"])
    ('dd', 'il')
    """
    joined = "".join(raws)
    if joined.isdigit():
        return "i" * len(raws)
    are_plain = _DIGITS.issuperset({raw[-1] for raw in raws}) and "e" not in joined.lower()
    if are_plain and all("." in raw for raw in raws):
        return "d" * len(raws)
    return "".join(map(literal_kind, raws))


@lru_cache(maxsize=16)
def split_list(raw: str) -> tuple[str, ...]:
    """Return the elements of a list of literals, as written."""
    # Cached because a long list is split several times in a row.
    return tuple(_ELEMENT.findall(raw))


@lru_cache(maxsize=16)
def list_element_types(raw: str) -> tuple[Type, ...]:
    """Return the types of the elements of a list of literals.

    Most elements are not decoded, because their form already decides their types.
    """
    return tuple(map(_read_type, split_list(raw)))


def _read_type(raw: str) -> Type:
    """Return the type of a literal; decode it only if its form does not decide the type."""
    if raw[0] in "'\"":
        return STRING
    digits = raw if raw[0] not in "+-" else raw[1:].lstrip()
    if len(digits) < 10 and digits.isdigit():
        return INT
    letter = literal_kind(digits)
    if letter == "d" and len(digits) < 38 and (match := _DECIMAL.fullmatch(digits)):
        whole_digits, decimals = match[1] or "", match[2] or ""
        return _build_decimal_type(len((whole_digits + decimals).lstrip("0")), len(decimals))
    return _FRACTIONAL.get(letter) or decode_literal(raw).type


@cache
def _build_decimal_type(significant: int, scale: int) -> Type:
    """Return the type of a decimal from its number of significant digits and its scale."""
    return decimal_type(max(significant, scale, 1), scale)


_DECIMAL = re.compile(r"(\d*)(?:\.(\d*))?(?:BD)?", re.ASCII | re.IGNORECASE)


_FRACTIONAL = {"e": DOUBLE, "f": FLOAT}


def decode_literal(raw: str) -> TypedLiteral:
    """Return the type and value of one literal, which may have a sign.

    Raises:
        LiteralError: Spark refuses the literal, or it has too many digits.

    >>> decimal = decode_literal("-1.50")
    >>> str(decimal.type), decimal.value
    ('decimal(3,2)', Decimal('-1.50'))
    >>> decode_literal("3000000000").type.name, decode_literal("'it\\\\'s'").value
    ('bigint', "it's")
    """
    if raw[0] in "'\"":
        return TypedLiteral(STRING, unquote(raw))
    sign, digits = ("-", raw[1:].lstrip()) if raw[0] == "-" else ("", raw.lstrip("+").lstrip())
    if len(digits) > 400:
        raise LiteralError("a number may have at most 400 characters")
    letter = literal_kind(digits)
    if letter == "i":
        return _decode_integer(sign, digits)
    if letter == "l":
        type_ = {"l": BIGINT, "s": SMALLINT, "y": TINYINT}[digits[-1].lower()]
        return (
            _decode_bounded(int(sign + digits[:-1]), type_)
            if digits[:-1].isdigit()
            else _refuse_integer(digits)
        )
    try:
        number = Decimal(sign + digits.rstrip("bBdDfF"))
    except InvalidOperation:
        raise LiteralError(f"{digits} is out of range; write a smaller number") from None
    if letter == "e":
        _check_range(number, _LARGEST_DOUBLE, digits)
        return TypedLiteral(DOUBLE, float(number))
    if letter == "f":
        _check_range(number, _LARGEST_FLOAT, digits)
        return TypedLiteral(FLOAT, float(round_to_float32(number)))
    return _decode_decimal(number)


def round_to_float32(number: Decimal) -> np.float32:
    """Return the float32 that is nearest to a number.

    The number is rounded only once; by way of float64, it would be rounded twice.
    """
    if number.copy_abs() >= _OVERFLOW:
        return np.float32(np.inf if number > 0 else -np.inf)
    double = float(number)
    if abs(double) > _NORMAL and abs(encode_double(double)) & _HALF_MASK != _HALF:
        return np.float32(double)  # the double is not half-way between two floats
    largest = np.finfo(np.float32).max
    best = np.float32(min(max(float(number), -float(largest)), float(largest)))
    for other in (np.nextafter(best, -largest), np.nextafter(best, largest)):
        gap, best_gap = (
            _EXACT.subtract(Decimal(float(f)), number).copy_abs() for f in (other, best)
        )
        if gap < best_gap or (gap == best_gap and other.view(np.uint32) % 2 == 0):
            best = other
    return best


_EXACT = Context(prec=1200)
_NORMAL = 2.0**-126  # floats above it have all 24 bits
_HALF, _HALF_MASK = 1 << 28, (1 << 29) - 1  # the 29 low bits of a double that a float lacks
_OVERFLOW = Decimal(2**128 - 2**103)  # half-way between the largest float32 and the next power of 2


def unquote(raw: str) -> str:
    """Return the text of a string literal, with Spark's escapes and doubled quotes replaced."""
    quote, body = raw[0], raw[1:-1]
    if "\\" not in body and quote not in body:
        return body
    return _replace_escapes(body, quote)


@lru_cache(maxsize=16)
def _replace_escapes(body: str, quote: str) -> str:
    """Return the content of a string literal with escapes and doubled quotes replaced."""
    # Cached because a long text is decoded several times in a row.
    text = _ESCAPED[quote].sub(_replace_escape, body)
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub("?", joined)


_ESCAPES = {
    "0": "\0",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "Z": "\x1a",
    "%": "\\%",
    "_": "\\_",
}
_ESCAPED = {
    quote: re.compile(
        rf"""{quote}{quote}|\\(?:(?P<octal>[01][0-7]{{2}})|u(?P<short>[0-9a-fA-F]{{4}})
        |U(?P<long>[0-9a-fA-F]{{8}})|(?P<letter>.))""",
        re.DOTALL | re.VERBOSE,
    )
    for quote in "'\""
}
_SURROGATE = re.compile("[\ud800-\udfff]")


def _replace_escape(escape: re.Match[str]) -> str:
    r"""Return the text that an escape sequence or a doubled quote means; `\%` and `\_` stay."""
    letter = escape["letter"]
    if letter is not None:
        return _ESCAPES.get(letter, letter)
    if escape["octal"]:
        return chr(int(escape["octal"], 8))
    if digits := escape["short"] or escape["long"]:
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF else "?"
    return escape.group()[0]  # a doubled quote


def _decode_integer(sign: str, digits: str) -> TypedLiteral:
    """Return an integer without suffix: an int, a bigint, or a decimal if it is larger."""
    value = int(sign + digits)
    for type_, bits in ((INT, 31), (BIGINT, 63)):
        if -(1 << bits) <= value < 1 << bits:
            return TypedLiteral(type_, value)
    return _decode_decimal(Decimal(sign + digits))


def _decode_bounded(value: int, type_: Type) -> TypedLiteral:
    """Return an integer of a type; raise LiteralError if it is out of the type's range."""
    bits = {"tinyint": 7, "smallint": 15, "bigint": 63}[type_.name]
    if not -(1 << bits) <= value < 1 << bits:
        raise LiteralError(f"{value} does not fit {type_}; leave the suffix out")
    return TypedLiteral(type_, value)


def _decode_decimal(value: Decimal) -> TypedLiteral:
    """Return a decimal literal with the precision and scale that Spark gives it."""
    sign, digits, exponent = abs(value).as_tuple() if not value else value.as_tuple()
    if not isinstance(exponent, int) or abs(exponent) > 80 or len(digits) > 80:
        raise LiteralError("a decimal may have at most 38 digits")
    if exponent > 0:
        digits, exponent = digits + (0,) * exponent, 0
    significant = len("".join(map(str, digits)).lstrip("0")) or 1
    precision = max(significant, -exponent)
    if precision > 38:
        raise LiteralError(f"a decimal may have at most 38 digits, but this one has {precision}")
    return TypedLiteral(decimal_type(precision, -exponent), Decimal((sign, digits, exponent)))


_LARGEST_DOUBLE = Decimal(sys.float_info.max)
_LARGEST_FLOAT = Decimal(float(np.finfo(np.float32).max))


def _check_range(number: Decimal, largest: Decimal, digits: str) -> None:
    """Raise LiteralError if the absolute value of a number is larger than `largest`."""
    if number.adjusted() >= largest.adjusted() and number.copy_abs() > largest:
        raise LiteralError(f"{digits} is out of range; write a smaller number")


def _refuse_integer(digits: str) -> TypedLiteral:
    """Raise LiteralError for a number with an integer suffix that is not a whole number."""
    raise LiteralError(
        f"{digits} has the suffix of an integer, but is not a whole number; leave the suffix out"
    )

"""Texts of 64 KB that take long to parse if any step is more than linear in their length.

The time is the CPU time of a new parser for one text, which is what a fit does for each text
without Spark. Slow texts are parsed again in variants that share no literal, and the median counts.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import cycle, product

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.harness import Value, progress
from benchmarks.on_attack.sizes import Sizes
from covey.errors import CompilerError
from covey.language.parser import Parser
from covey.space import SessionSettings, Space

__all__ = ["KEYS", "run"]

KEYS = {
    "texts_tried": "texts of 64 KB that are hard to parse, in both modes of ANSI",
    "texts_refused_ms": "CPU ms of the slowest rejected text",
    "texts_taken_us": "CPU µs per character of the slowest accepted text",
}

_LENGTH = 65_536
_SLOW_S, _VARIANTS = 0.02, 3  # slower texts are parsed in this number of variants
_ATTRIBUTES = {
    "b": pa.int8(), "i": pa.int32(), "l": pa.int64(), "d": pa.float64(), "f": pa.float32(),
    "p": pa.decimal128(10, 2), "q": pa.decimal128(38, 10), "t": pa.string(), "o": pa.bool_(),
    "day": pa.date32(), "ts": pa.timestamp("us", "UTC"), "ntz": pa.timestamp("us"),
    "tags": pa.list_(pa.string()), "vec": pa.list_(pa.float32(), 3),
}  # fmt: skip

Form = tuple[str, tuple[str, ...], str]
"""A kind of text: its start, the units that are repeated in turns, and its end."""

_SIGNS: tuple[Form, ...] = tuple(
    ("", (sign,), "")
    for sign in (
        "/*", "*/", "/*x*/", "--\n", "'", '"', "`", "``", "(", ")", "[", "{", ",", ";", ":", ".",
        "-", "+", "!", "~", "%", "@", "\\", "\0", "\n", " ", "é", "\u202e", "NOT ", "NOT(", "i ",
        "{n} ", "'a' ", "i.", "CASE ", "IN (", "CAST(", "->", "i = ", "= ", "r'a' ", "$$",
    )
)  # fmt: skip
_CHAINS: tuple[Form, ...] = (
    ("o", (" AND i = {n}",), ""), ("o", (" OR i = {n}",), ""), ("o", (" OR t LIKE '%{n}'",), ""),
    ("i = {n}", (" + {n}",), ""), ("i", (" - 1",), " = 1"), ("t", (" || 'a{n}'",), " = 'a'"),
    ("i < ", ("{n} < ",), "i"), ("i BETWEEN ", ("{n} AND ",), "1"), ("i = ", ("-",), "1"),
    ("CASE", (" WHEN i = {n} THEN true",), " END"), ("NOT i = {n} ", ("AND NOT i = {n} ",), ""),
    ("i IN ({n})", (" AND i IN ({n})",), ""), ("i IN ({n})", (" OR i IN ({n}, 'a{n}')",), ""),
    ("coalesce(i", (", i",), ") = 1"), ("t LIKE ANY ('a'", (", 'a{n}%'",), ")"),
    ("CAST(", ("CAST(",), "i"), ("i = {n} /*", (" /* ", " */ "), "*/"),
)  # fmt: skip
_TEXTS: tuple[Form, ...] = tuple(
    (head, (unit,), "'")
    for head in ("t = '", "i = '", "t LIKE '", "t RLIKE '", "ts > '", "day = '", "q = '", "o = '")
    for unit in (
        "{n}", "a", "\\\\", "''", "\\u00e9", "\\%", "%", "(", "(a+)+", "[", "a|", ".*", "{n}-",
        "\ud800",
    )
)  # fmt: skip
_LISTS: tuple[Form, ...] = tuple(
    (f"{name} IN (0", units, tail)
    for name in ("b", "i", "l", "d", "f", "p", "q", "t", "day", "ts", "ntz", "o", "lower(t)")
    for units in (
        (", {n}",), (", 'a{n}'",), (", {n}", ", 'a{n}'"), (", {n}", ", {n}.5", ", '{n}'"),
        (", {n}", ", {n}L", ", {n}Y"), (", {n}.{n}e5", ", {n}F"), (", '{n}'",), (", NULL",),
        (", true",), (", i",), (", DATE '2024-01-01'",), (", {n}e999",), (", -{n}", ", +{n}"),
        (", 0.{n}{n}{n}{n}{n}",), (", '2024-01-01 {n}'",), (",   {n}",), (", ({n})",),
        (", r'a{n}'",), (", {n}BD", ", '\\u00e9{n}'"),
    )
    for tail in (")", ", x)", "")
)  # fmt: skip
_CALLS: tuple[Form, ...] = tuple(
    (head, units, tail)
    for head, tail in (
        ("arrays_overlap(tags, array('a'", "))"), ("array_contains(array(1", "), i)"),
        ("vector_l2_distance(vec, array(1", ")) < 1"), ("i = array(1", ")"),
        ("concat('a'", ") = t"), ("nosuch(1", ") = t"), ("t LIKE concat(t", ")"),
    )
    for units in (
        (", {n}",), (", 'a{n}'",), (", {n}.5e0", ", {n}F"), (", {n}", ", 'a{n}'", ", {n}.5"),
        (", i",), (", NULL",), (", {n}e999",), (", DATE '2024-01-01'",),
    )
)  # fmt: skip
_FORMS = (*_SIGNS, *_CHAINS, *_TEXTS, *_LISTS, *_CALLS)


def run(spark: SparkSession, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all texts, with ANSI mode on and off."""
    results: dict[bool, list[tuple[float, Form]]] = {True: [], False: []}
    forms = _FORMS[:: max(1, 1_000 // sizes.normal)]
    for n, (ansi, form) in enumerate(product((True, False), forms)):
        progress(n, 2 * len(forms), "texts")
        space = Space.from_types(_ATTRIBUTES, settings=SessionSettings(ansi=ansi))
        seconds, is_refused = _timed(space, _text(form, 0))
        if seconds > _SLOW_S:
            variants = [_timed(space, _text(form, n))[0] for n in range(1, _VARIANTS)]
            seconds = statistics.median([seconds, *variants])
        results[is_refused].append((seconds, form))
    for is_refused, times in results.items():
        for seconds, (head, units, tail) in sorted(times, reverse=True)[:10]:
            shown = f"{head}{''.join(units)} … {tail}"
            print(f"{is_refused=}, {seconds * 1e3:.1f} ms: {shown!r}", file=sys.stderr)
    return {
        "texts_tried": len(results[True]) + len(results[False]),
        "texts_refused_ms": round(max(results[True])[0] * 1e3, 1),
        "texts_taken_us": round(max(results[False])[0] / _LENGTH * 1e6, 2),
    }


def _text(form: Form, variant: int) -> str:
    """Return a text of one kind, with numbers that other variants do not contain."""
    head, units, tail = form
    number = 1 + variant * 100_000
    pieces = [head.replace("{n}", "0")]
    length = len(head) + len(tail)
    for unit in cycle(units):
        number += 1
        piece = unit.replace("{n}", str(number))
        length += len(piece)
        if length > _LENGTH:
            break
        pieces.append(piece)
    return "".join([*pieces, tail])


def _timed(space: Space, text: str) -> tuple[float, bool]:
    """Return the CPU seconds to parse a text, and whether it is rejected."""
    parser = Parser(space)
    start = time.thread_time()
    parsed = parser.parse([text])
    seconds = time.thread_time() - start
    for error in parsed.rejected.values():
        if isinstance(error, CompilerError):
            raise error
    return seconds, bool(parsed.rejected)

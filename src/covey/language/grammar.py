"""Spark SQL's grammar through sqlglot: a predicate's text as a tree, every literal a numbered slot.

sqlglot reads the grammar only. Functions stay what the user wrote (its own function classes would
rewrite some), and literals are read by `covey.language.literals`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError, TokenError
from sqlglot.parsers.spark import SparkParser

from covey.errors import PredicateError
from covey.language import literals

__all__ = ["Tree", "parse_tree"]

MAX_TEXT = 4_000_000
MAX_TEMPLATE = 16_384
MAX_DEPTH = 60


class _Parser(SparkParser):
    FUNCTIONS = {}  # noqa: RUF012
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: parser
        for name, parser in SparkParser.FUNCTION_PARSERS.items()
        if name in ("CAST", "TRY_CAST")
    }
    STRICT_CAST = True


class _Grammar(Spark):
    Parser = _Parser


_GRAMMAR = _Grammar()


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed text: the root, the literals by slot, and the way back to places in the text."""

    text: str
    root: exp.Expr
    raws: tuple[str, ...]
    _starts: tuple[int, ...]
    _shifts: tuple[int, ...]

    def slot(self, node: exp.Expr) -> int:
        """The slot that a literal node stands for."""
        match = _SLOT.fullmatch(str(node.this))
        if match is None or int(match.group(1)) >= len(self.raws):
            raise self.error("a literal that Spark would not read here", node)
        return int(match.group(1))

    def error(self, problem: str, node: exp.Expr | None = None, hint: str = "") -> PredicateError:
        """An error at the first place that belongs to a node."""
        starts = (
            [n.meta["start"] for n in node.walk() if n._meta and "start" in n.meta] if node else []
        )
        return PredicateError(problem, self.text, self.place(min(starts, default=0)), hint)

    def place(self, offset: int) -> int:
        """Where in the user's text something stands that the parser saw at `offset`."""
        i = bisect_right(self._starts, offset) - 1
        return offset + self._shifts[i]


_SLOT = re.compile(r"77([0-9]{5})77")


def parse_tree(text: str) -> Tree:
    """The tree of one predicate; whatever cannot be read is a `PredicateError` at its place."""
    if len(text) > MAX_TEXT:
        raise PredicateError(f"a predicate has at most {MAX_TEXT:,} characters", text[:200])
    sql, raws, starts, shifts = _slotted(text)
    if len(sql) - 9 * len(raws) > MAX_TEMPLATE or len(raws) > 99_999:
        raise PredicateError(
            f"more than {MAX_TEMPLATE:,} characters besides the literals",
            text,
            0,
            "split it into several",
        )
    tree = Tree(text, exp.Null(), raws, starts, shifts)
    _check_depth(tree, sql)
    if ";" in literals.without(text):
        raise PredicateError(
            "a predicate has no ;", text, literals.without(text).index(";"), "leave it out"
        )
    try:
        roots = _GRAMMAR.parser().parse_into(exp.Condition, _GRAMMAR.tokenize(sql), sql)
    except ParseError as error:
        raise _explained(tree, sql, error) from None
    except TokenError:
        raise PredicateError(*_unclosed(text)) from None
    except RecursionError:
        raise PredicateError("nested too deeply", text, 0, "use fewer parentheses") from None
    except (SqlglotError, ValueError, AttributeError, TypeError, KeyError, IndexError):
        raise PredicateError("this is no Spark SQL predicate", text, 0) from None
    if len(roots) == 1 and roots[0] is not None:
        _check_precedence(replace(tree, root=roots[0]))
    if len(roots) != 1 or roots[0] is None:
        raise PredicateError(
            "the predicate is empty", text, 0, "write a condition such as price > 5"
        )
    return Tree(text, roots[0], raws, starts, shifts)


def _slotted(text: str) -> tuple[str, tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
    """The text with slots for literals, the literals, and how places in it map to the text."""
    pieces: list[str] = []
    raws: list[str] = []
    starts, shifts = [0], [0]
    length = end = 0
    for match in literals.tokens(text):
        raw = match.group()
        between = text[end : match.start()]
        token = raw if raw[0] == "`" else " " if raw[0] in "-/" else _token(raw, len(raws))
        if raw[0] not in "`-/":
            raws.append(raw)
        pieces += [between, token]
        length += len(between) + len(token)
        end = match.end()
        starts += [length - len(token), length]
        shifts += [match.start() - (length - len(token)), end - length]
    pieces.append(text[end:])
    return "".join(pieces), tuple(raws), tuple(starts), tuple(shifts)


def _token(raw: str, slot: int) -> str:
    name = f"77{slot:05d}77"
    if raw[0] == "(":
        return f"({name})"
    return f"'{name}'" if raw[0] in "'\"" else name


def _check_depth(tree: Tree, sql: str) -> None:
    depth = 0
    for i, character in enumerate(sql):
        depth += (character in "([{") - (character in ")]}")
        if depth > MAX_DEPTH:
            raise PredicateError(
                "nested too deeply", tree.text, tree.place(i), "use fewer parentheses"
            )


_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)


def _check_precedence(tree: Tree) -> None:
    """Where Spark binds operators in another order than the parser, parentheses must decide."""
    for node in tree.root.walk():
        children = (node.args.get("this"), node.args.get("expression"))
        chained = isinstance(node, _COMPARISONS) and any(
            isinstance(c, _COMPARISONS) for c in children
        )
        mixed = isinstance(node, exp.DPipe) and any(isinstance(c, _ARITHMETIC) for c in children)
        if chained or mixed:
            raise tree.error("it is not clear which operator comes first", node, "use parentheses")


def _explained(tree: Tree, sql: str, error: ParseError) -> PredicateError:
    """sqlglot's complaint in words for people who write predicates."""
    details = error.errors[0] if error.errors else {}
    line, column = details.get("line") or 1, details.get("col") or 1
    found = str(details.get("highlight") or "")
    lines = sql.split("\n")
    offset = sum(len(one) + 1 for one in lines[: line - 1]) + max(0, column - len(found))
    offset = min(offset, len(sql))
    place = tree.place(offset)
    rest = tree.text[place : place + 1]
    for pattern, problem, hint in _USUAL:
        if pattern.search(sql):
            return PredicateError(problem, tree.text, place, hint)
    if not sql.strip():
        return PredicateError(
            "the predicate is empty", tree.text, 0, "write a condition such as price > 5"
        )
    complaint = str(details.get("description"))
    if "Expecting )" in complaint:
        return PredicateError(
            "a closing parenthesis is missing", tree.text, place, "write ) before this"
        )
    if "Unexpected token" not in complaint and offset + len(found) >= len(sql.rstrip()):
        return PredicateError(
            "the predicate ends too early", tree.text, len(tree.text.rstrip()), "complete it"
        )
    said = (
        f"{found!r} cannot stand here"
        if rest and not _SLOT.search(found)
        else "a literal cannot stand here"
    )
    return PredicateError(
        said, tree.text, place, "an operator such as AND may be missing before it"
    )


_USUAL = [
    (re.compile(p, re.IGNORECASE), problem, hint)
    for p, problem, hint in (
        (r"^\s*select\b", "a whole query is no predicate", "write what stands after WHERE"),
        (r"^\s*where\b", "the word WHERE is not part of a predicate", "leave it out"),
        (r"&&", "&& is no operator here", "write AND"),
        (r"=>", "=> is no operator here", "write >="),
        (r"=<", "=< is no operator here", "write <="),
        (r"\bis\s+not\s+in\b", "IS NOT IN is no operator", "write NOT IN"),
        (r"\b(group|order)\s+by\b", "a predicate has no GROUP BY or ORDER BY", "leave it out"),
    )
]


def _unclosed(text: str) -> tuple[str, str, int, str]:
    for quote, name in (("'", "quote"), ('"', "double quote"), ("`", "backtick")):
        rest = literals.without(text)
        if quote in rest:
            return f"a {name} is not closed", text, rest.rindex(quote), f"write a second {quote}"
    return "this is no Spark SQL predicate", text, 0, ""
